"""Contexts for tests in process, without a Keystone: a header names who asks.

    app = Identity(api, service.policy)
    client.get("/v3/volumes", headers={"X-Test-Identity": "reader_a"})

Without the header the caller is `member_a`; the name `nobody` answers 401 as a missing token would.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pumice.kernel.auth.context import CONTEXT, RequestContext, new_request_id, valid_request_id
from pumice.kernel.auth.policy import Policy

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

HEADER = "X-Test-Identity"
OPEN_PATHS = re.compile(r"/|/v3/?|(/v[23])?/openapi\.json")

PROJECT_A = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
PROJECT_B = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
PROJECT_ADMIN = "00000000000000000000000000000ad0"
PROJECT_SERVICE = "0000000000000000000000000000005e"

_READER = frozenset({"reader"})
_MEMBER = _READER | {"member"}
_ADMIN = _MEMBER | {"manager", "admin"}


def _person(project_id: str | None, number: int, roles: frozenset[str], **more: object) -> RequestContext:
    context = RequestContext(
        user_id=f"{number:032x}",
        project_id=project_id,
        user_domain_id="default",
        project_domain_id="default",
        roles=roles,
        is_admin="admin" in roles,
    )
    return dataclasses.replace(context, **more)  # type: ignore[arg-type]


PEOPLE = {
    "admin": _person(PROJECT_ADMIN, 1, _ADMIN),
    "admin_a": _person(PROJECT_A, 2, _ADMIN),
    "manager_a": _person(PROJECT_A, 3, _MEMBER | {"manager"}),
    "member_a": _person(PROJECT_A, 4, _MEMBER),
    "member2_a": _person(PROJECT_A, 5, _MEMBER),
    "reader_a": _person(PROJECT_A, 6, _READER),
    "member_b": _person(PROJECT_B, 7, _MEMBER),
    "reader_b": _person(PROJECT_B, 8, _READER),
    "service": _person(PROJECT_SERVICE, 9, _ADMIN | {"service"}),
    # Nova on behalf of a member: the user's token, and the service's beside it.
    "member_a_via_service": _person(PROJECT_A, 4, _MEMBER, service_roles=frozenset({"service"})),
    "no_roles_a": _person(PROJECT_A, 10, frozenset()),
    # Tokens without a project: of the whole system, and of a user who asked for no scope.
    "system_admin": _person(None, 11, _ADMIN, system_scope="all"),
    "unscoped": _person(None, 12, frozenset()),
}


class Identity:
    """WSGI middleware in the place of `pumice.kernel.auth.middleware.Authentication`.

    :param policy: decides `is_admin`; without it, the role admin does
    """

    def __init__(self, app: WSGIApplication, policy: Policy | None = None) -> None:
        self._app = app
        self._policy = policy

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if OPEN_PATHS.fullmatch(environ["PATH_INFO"]):
            return self._app(environ, start_response)
        name = environ.get("HTTP_X_TEST_IDENTITY", "member_a")
        if name == "nobody":
            start_response("401 Unauthorized", [("Content-Type", "application/json")])
            return [b'{"unauthorized": {"code": 401, "message": "no token"}}']
        context = dataclasses.replace(
            PEOPLE[name],
            request_id=new_request_id(),
            global_request_id=valid_request_id(environ.get("HTTP_X_OPENSTACK_REQUEST_ID")),
        )
        if self._policy is not None:
            context = dataclasses.replace(context, is_admin=self._policy.is_admin(context))
        environ[CONTEXT] = context
        return self._app(environ, start_response)
