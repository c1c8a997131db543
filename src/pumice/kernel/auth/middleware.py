"""From a token to a context: keystonemiddleware in front of the API.

keystonemiddleware validates tokens with Keystone and keeps what it learnt for [keystone_authtoken]
token_cache_time seconds, so a revoked token is refused after that time at the latest. With memcached_servers it
keeps it there, for all processes, else in a `TokenCache` of this process.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Collection, Iterable
from time import monotonic
from typing import TYPE_CHECKING, Any

from keystoneauth1 import exceptions, loading
from keystonemiddleware.auth_token import AuthProtocol
from oslo_config import cfg

from pumice.kernel.api.faults import fault_body
from pumice.kernel.auth.context import CONTEXT, from_headers, new_request_id, valid_request_id
from pumice.kernel.auth.policy import Policy
from pumice.kernel.config import ConfigError
from pumice.kernel.errors import ApiError, ServiceUnavailable, Unauthorized
from pumice.kernel.logging import logged

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

SECTION = "keystone_authtoken"

_CACHE = "pumice.token_cache"


class TokenCache:
    """Validated tokens of one process, in the form that keystonemiddleware's `cache` option asks for.

    keystonemiddleware's own in-process cache never forgets; this one holds at most `size` tokens.
    """

    def __init__(self, size: int = 10_000) -> None:
        self._size = size
        self._kept: dict[str, tuple[float, Any]] = {}
        self._lock = threading.Lock()

    def get(self, key: str) -> Any:
        found = self._kept.get(key)
        return found[1] if found and monotonic() < found[0] else None

    def set(self, key: str, value: Any, time: float = 0) -> None:
        """:param time: seconds to keep the value"""
        with self._lock:
            self._kept.pop(key, None)
            while len(self._kept) >= self._size:
                del self._kept[next(iter(self._kept))]  # the one set longest ago expires first
            self._kept[key] = (monotonic() + time, value)


class Authentication:
    """WSGI middleware: answers 401, or calls `app` with a `RequestContext` in environ["pumice.context"].

    :param open_paths: go through as they are, without a context
    :raises ConfigError: [keystone_authtoken] is incomplete
    """

    def __init__(self, app: WSGIApplication, conf: cfg.ConfigOpts, policy: Policy, open_paths: Collection[str]) -> None:
        check_credentials(conf)
        self._app = app
        self._policy = policy
        self._open_paths = open_paths
        self._cache = TokenCache()
        section = conf[SECTION]
        self._challenge = f'Keystone uri="{section.www_authenticate_uri or section.auth_url}"'
        # Whatever the file says: what is not a valid token ends here, and no service catalogue is needed.
        settings = {"oslo_config_config": conf, "delay_auth_decision": False, "include_service_catalog": False}
        if not section.memcached_servers:
            settings["cache"] = _CACHE
        self._validate: WSGIApplication = AuthProtocol(self._validated, settings)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO", "") in self._open_paths:
            return self._app(environ, start_response)
        refusals: list[str] = []

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            if CONTEXT in environ:
                return start_response(status, headers, exc_info)
            refusals.append(status)
            return None

        environ[_CACHE] = self._cache
        answer = self._validate(environ, start)
        return self._refuse(refusals[0], start_response) if refusals else answer

    def _validated(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        global_request_id = valid_request_id(environ.get("HTTP_X_OPENSTACK_REQUEST_ID"))
        context = from_headers(environ, new_request_id(), global_request_id)
        context = dataclasses.replace(context, is_admin=self._policy.is_admin(context))
        environ[CONTEXT] = context
        with logged(context):
            return self._app(environ, start_response)

    def _refuse(self, status: str, start_response: StartResponse) -> Iterable[bytes]:
        """keystonemiddleware's 401 and 503 in the API's form."""
        error: ApiError = Unauthorized("The request you have made requires authentication.")
        if not status.startswith("401"):
            error = ServiceUnavailable("The Identity service cannot be reached to check the token.")
        body = fault_body(error)
        request_id = new_request_id()
        headers = [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            ("x-openstack-request-id", request_id),
            ("x-compute-request-id", request_id),
        ]
        if error.status == 401:
            headers.append(("WWW-Authenticate", self._challenge))
        start_response(status, headers)
        return [body]


def check_credentials(conf: cfg.ConfigOpts) -> None:
    """Check that [keystone_authtoken] can log in.

    :raises ConfigError: names the first option that is missing
    """
    section = conf[SECTION]
    if section.auth_section:
        return
    if section.auth_type == "password":
        for names in (("auth_url",), ("username", "user_id"), ("password",)):
            if not any(section[name] for name in names):
                raise ConfigError(f"[{SECTION}] {' or '.join(names)} is missing: the service cannot check tokens")
    try:
        loading.load_auth_from_conf_options(conf, SECTION)
    except exceptions.AuthPluginException as error:
        raise ConfigError(f"[{SECTION}] is incomplete: {error}") from error
