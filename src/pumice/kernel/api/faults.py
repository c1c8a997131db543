"""Errors become answers: here, and nowhere else."""

from __future__ import annotations

import logging
from typing import Any

import falcon
import msgspec

from pumice.kernel import errors
from pumice.kernel.api.versions import Dialect
from pumice.kernel.db.engine import RETRIED
from pumice.kernel.errors import ApiError

LOG = logging.getLogger(__name__)

REQUEST_ID = "pumice.request_id"

_GENERIC = "The service failed to answer this request; its log tells why, under the request's id."
_BUSY = "The database cannot be reached or is too busy at the moment: try again."
_BY_STATUS = {one.status: one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, ApiError)}


def fault_body(error: ApiError) -> bytes:
    """The JSON text of an error: one key that names the fault, with code and message."""
    inner: dict[str, Any] = {"code": error.status, "message": error.message}
    if error.status == 413:
        inner["retryAfter"] = "0"
    return msgspec.json.encode({error.fault: inner})


def install(app: falcon.App[Any, Any], dialect: Dialect) -> None:
    """Make the application answer every exception as a fault."""

    def answer(resp: falcon.Response, error: ApiError) -> None:
        resp.status = error.status
        resp.content_type = falcon.MEDIA_JSON
        resp.data = fault_body(error)
        resp.text = resp.media = None
        resp.set_headers(({"Retry-After": "0"} if error.status == 413 else {}) | error.headers)

    def on_api_error(_req: falcon.Request, resp: falcon.Response, error: ApiError, _params: Any) -> None:
        answer(resp, error)

    def on_http_error(req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, _params: Any) -> None:
        status = dialect.wrong_method_status if error.status_code == 405 else error.status_code
        message = error.description or error.title or "the request cannot be read"
        if status == 404:
            message = f"{req.method} {req.path} does not exist"
        answer(resp, _BY_STATUS.get(status, errors.BadRequest)(message))

    def on_any(req: falcon.Request, resp: falcon.Response, error: Exception, _params: Any) -> None:
        # The path and not the query: values in it may be secret.
        LOG.error("%s: %s %s failed", req.env.get(REQUEST_ID), req.method, req.path, exc_info=error)
        answer(resp, errors.ServerFault(_GENERIC))

    def on_busy_database(req: falcon.Request, resp: falcon.Response, error: Exception, _params: Any) -> None:
        LOG.error("%s: %s %s had no database: %s", req.env.get(REQUEST_ID), req.method, req.path, type(error).__name__)
        answer(resp, errors.ServiceUnavailable(_BUSY, headers={"Retry-After": "1"}))

    app.add_error_handler(Exception, on_any)
    for busy in RETRIED:
        app.add_error_handler(busy, on_busy_database)
    app.add_error_handler(falcon.HTTPError, on_http_error)
    app.add_error_handler(ApiError, on_api_error)
