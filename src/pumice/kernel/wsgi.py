"""A service's API for any WSGI server, made in the process that serves it: servers fork after they have loaded."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from oslo_db import exception as db_errors

from pumice.kernel import config
from pumice.kernel import logging as kernel_logging
from pumice.kernel.api.faults import fault_body
from pumice.kernel.errors import ServiceUnavailable
from pumice.kernel.serving import BackendService

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LOG = logging.getLogger(__name__)


class Application:
    """The WSGI application; what it stands on is made by `start`, or else at the first request.

    While the database is away at that time, requests are answered 503, and the next one tries again.

    :param make: makes the service
    """

    def __init__(self, make: Callable[[], BackendService]) -> None:
        self.make = make
        self._app: WSGIApplication | None = None
        self._service: BackendService | None = None
        self._lock = threading.Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            app = self._app or self.start()
        except db_errors.DBConnectionError:
            LOG.warning("the database cannot be reached")
            body = fault_body(ServiceUnavailable("The database cannot be reached at the moment: try again."))
            headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
            start_response("503 BackendService Unavailable", headers)
            return [body]
        return app(environ, start_response)

    def start(self) -> WSGIApplication:
        """:raises DBConnectionError: the database cannot be reached"""
        with self._lock:
            if self._app is None:
                service = self.make()
                service.start(())
                self._service, self._app = service, service.wsgi()
            return self._app

    def stop(self) -> None:
        if self._service is not None:
            self._service.stop()


def application(name: str, make: Callable[..., BackendService]) -> Application:
    """The application of a service that is configured by its usual files.

    :param name: "block" or "share"
    :param make: the service's class
    """

    def from_files() -> BackendService:
        conf = config.load(name, config.usual_files(name), backends=False)
        kernel_logging.setup(conf, f"{name}-api")
        return make(conf)

    return Application(from_files)
