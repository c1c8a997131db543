"""A service's API as a WSGI application: what only the processes need that serve one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pumice.kernel.api.app import build_app
from pumice.kernel.api.table import Api
from pumice.kernel.auth.middleware import Authentication
from pumice.kernel.auth.policy import Policy, defaults_of
from pumice.kernel.config import ConfigError
from pumice.kernel.db.paging import read_resource_filters
from pumice.kernel.supervision import supervised

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

    from pumice.kernel.service import Service


def front(service: Service, authentication: Callable[[WSGIApplication], WSGIApplication] | None) -> WSGIApplication:
    """The application of `Service.wsgi`; the service has policy and filters of lists then."""
    api = service.api()
    service.policy = Policy(service.conf, defaults_of(api.table, api.rules, api.helpers, api.helper_of))
    service.resource_filters = _resource_filters(service, api)
    app = build_app(service, api.table, api.rules, api.dialect)
    if authentication is not None:
        return supervised(service, authentication(app))
    return supervised(service, Authentication(app, service.conf, service.policy, api.dialect.open_paths))


def _resource_filters(service: Service, api: Api) -> Mapping[str, Sequence[str]]:
    path = service.conf.resource_query_filters_file
    try:
        return read_resource_filters(api.listings, Path(path) if path else None, others=api.other_filters)
    except ValueError as error:
        raise ConfigError(f"[DEFAULT] resource_query_filters_file = {path}: {error}") from error
