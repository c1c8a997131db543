"""One error class per HTTP meaning.

Raised anywhere below the API and turned into an answer in one place (`kernel.api.faults`). Messages say what
was wrong and what is allowed, and never hold a secret or a traceback.
"""

from __future__ import annotations


class ApiError(Exception):
    """The base: an HTTP status, the fault's key in the body, and a message for the caller.

    >>> raise BadRequest("size 0 is refused: 1 to 2147483647 GiB are allowed")
    """

    status = 500
    fault = "computeFault"

    def __init__(self, message: str, *, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.headers = headers or {}


class BadRequest(ApiError):
    status, fault = 400, "badRequest"


class Unauthorized(ApiError):
    status, fault = 401, "unauthorized"


class Forbidden(ApiError):
    status, fault = 403, "forbidden"


class NotFound(ApiError):
    status, fault = 404, "itemNotFound"


class MethodNotAllowed(ApiError):
    status, fault = 405, "badMethod"


class NotAcceptable(ApiError):
    status = 406


class Conflict(ApiError):
    status, fault = 409, "conflictingRequest"


class PreconditionFailed(ApiError):
    status = 412


class OverLimit(ApiError):
    """A quota is exceeded, or a body is too large. The body also carries `retryAfter`."""

    status, fault = 413, "overLimit"


class UnsupportedMediaType(ApiError):
    status, fault = 415, "badMediaType"


class Unprocessable(ApiError):
    """A body without the object that it is about."""

    status = 422


class ServerFault(ApiError):
    """A failure below the API that the caller may read about (a backend's answer, a time-out)."""


class ServiceUnavailable(ApiError):
    status, fault = 503, "serviceUnavailable"
