"""Who asks, and under which request ids.

A context is made once a request by `kernel.auth.middleware` and never changes. It holds no token: operations
outlive tokens, and workers act with the service user.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CONTEXT = "pumice.context"
"""Where a request's WSGI environ has its context."""
NO_ROLES: frozenset[str] = frozenset()

_REQUEST_ID = re.compile(r"req-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def new_request_id() -> str:
    return f"req-{uuid.uuid4()}"


def valid_request_id(text: str | None) -> str | None:
    """The text if it is `req-<uuid>`, else None: what a caller sends reaches logs and other services."""
    return text if text and _REQUEST_ID.fullmatch(text) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """:param roles: lower case, implied roles included (Keystone resolves them)
    :param is_admin: what the policy rule `context_is_admin` says of this context
    :param is_admin_project: false only where Keystone names an admin project and the token is for another one
    :param system_scope: "all" for a system-scoped token, which has no project
    :param domain_id: set for a domain-scoped token, which has no project either
    :param global_request_id: the caller's own id for a chain of requests over several services
    :param service_roles: roles of the service token that came beside the user's, when that one was valid
    """

    user_id: str | None = None
    project_id: str | None = None
    user_domain_id: str | None = None
    project_domain_id: str | None = None
    domain_id: str | None = None
    system_scope: str | None = None
    roles: frozenset[str] = NO_ROLES
    is_admin: bool = False
    is_admin_project: bool = True
    service_roles: frozenset[str] = NO_ROLES
    service_user_id: str | None = None
    service_project_id: str | None = None
    request_id: str = field(default_factory=new_request_id)
    global_request_id: str | None = None

    def to_policy_values(self) -> dict[str, Any]:
        """The credentials that check strings may name, oslo.context's names (with its older ones) included."""
        return {
            "user_id": self.user_id,
            "user": self.user_id,
            "user_domain_id": self.user_domain_id,
            "project_id": self.project_id,
            "tenant": self.project_id,
            "project_domain_id": self.project_domain_id,
            "domain_id": self.domain_id,
            "system_scope": self.system_scope,
            "roles": sorted(self.roles),
            "is_admin": self.is_admin,
            "is_admin_project": self.is_admin_project,
            "service_user_id": self.service_user_id,
            "service_project_id": self.service_project_id,
            "service_roles": sorted(self.service_roles),
            "request_id": self.request_id,
            "global_request_id": self.global_request_id,
        }


def from_headers(environ: Mapping[str, Any], request_id: str, global_request_id: str | None) -> RequestContext:
    """The context that the identity headers of keystonemiddleware describe; `is_admin` is not yet known.

    keystonemiddleware removes these headers from what a client sends, and adds those of the service token only
    when that token is valid.
    """
    service = environ.get("HTTP_X_SERVICE_IDENTITY_STATUS") == "Confirmed"
    return RequestContext(
        user_id=environ.get("HTTP_X_USER_ID"),
        project_id=environ.get("HTTP_X_PROJECT_ID"),
        user_domain_id=environ.get("HTTP_X_USER_DOMAIN_ID"),
        project_domain_id=environ.get("HTTP_X_PROJECT_DOMAIN_ID"),
        domain_id=environ.get("HTTP_X_DOMAIN_ID"),
        system_scope=environ.get("HTTP_OPENSTACK_SYSTEM_SCOPE"),
        roles=_roles(environ.get("HTTP_X_ROLES")),
        is_admin_project=environ.get("HTTP_X_IS_ADMIN_PROJECT", "true").lower() == "true",
        service_roles=_roles(environ.get("HTTP_X_SERVICE_ROLES")) if service else NO_ROLES,
        service_user_id=environ.get("HTTP_X_SERVICE_USER_ID") if service else None,
        service_project_id=environ.get("HTTP_X_SERVICE_PROJECT_ID") if service else None,
        request_id=request_id,
        global_request_id=global_request_id,
    )


def _roles(header: str | None) -> frozenset[str]:
    if not header:
        return NO_ROLES
    return frozenset(name for part in header.split(",") if (name := part.strip().lower()))
