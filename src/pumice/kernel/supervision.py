"""What supervisors, load balancers and Prometheus ask of a process, whatever it serves; none of it needs a token.

GET /healthcheck          200 as long as the process answers at all: restart it when it does not
GET /healthcheck/ready    200 when it can do its work; 503 with the reasons when it cannot
GET /metrics              in Prometheus' text format
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any, Protocol
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import msgspec

from pumice.kernel.auth.context import new_request_id
from pumice.kernel.metrics import Metrics

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LOG = logging.getLogger(__name__)

ALIVE, READY, METRICS = "/healthcheck", "/healthcheck/ready", "/metrics"


class Watched(Protocol):
    @property
    def metrics(self) -> Metrics: ...

    def trouble(self) -> Sequence[str]:
        """Why it cannot do its work now, a sentence each; nothing of it is secret."""
        ...


def supervised(watched: Watched, app: WSGIApplication) -> WSGIApplication:
    """`app` with the answers for supervisors in front of it."""
    metrics = watched.metrics.wsgi()

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO")
        if environ["REQUEST_METHOD"] not in {"GET", "HEAD"} or path not in {ALIVE, READY, METRICS}:
            return app(environ, start_response)
        if path == METRICS:
            return metrics(environ, start_response)
        reasons = watched.trouble() if path == READY else ()
        said: dict[str, Any] = {"status": "unavailable", "reasons": reasons} if reasons else {"status": "ok"}
        text = msgspec.json.encode(said)
        headers = [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(text))),
            ("x-openstack-request-id", new_request_id()),
        ]
        start_response("503 Service Unavailable" if reasons else "200 OK", headers)
        return [b"" if environ["REQUEST_METHOD"] == "HEAD" else text]

    return answer


def nothing_else(_environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """The application of processes that serve no API."""
    start_response("404 Not Found", [("Content-Length", "0")])
    return []


@contextmanager
def listening(host: str, port: int, watched: Watched) -> Iterator[None]:
    """Answer supervisors on an address of their own, for processes that serve no API.

    :raises OSError: the address cannot be listened on
    """
    app = supervised(watched, nothing_else)
    with make_server(host, port, app, server_class=_Server, handler_class=_Handler) as server:
        thread = threading.Thread(target=server.serve_forever, name="supervision", daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Handler(WSGIRequestHandler):
    timeout = 10

    def address_string(self) -> str:
        return str(self.client_address[0])

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the signature of the base
        LOG.debug(format, *args)
