"""A small stand-in for the compute service (Nova): a real HTTP server that remembers what it was asked.

with ComputeServer() as nova:
    nova.uses[(server, volume)] = attachment
    World(tmp_path, sections={"nova": nova.options})
"""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

ATTACHMENT = re.compile(r"/v2\.1/servers/([^/]+)/os-volume_attachments/([^/]+)")
SERVER = re.compile(r"/v2\.1/servers/([^/]+)")
EVENTS = "/v2.1/os-server-external-events"


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    version: str | None
    body: Any


class ComputeServer:
    """:ivar uses: (server id, volume id) → the attachment by which the server uses the volume
    :ivar hosts: server id → its host
    :ivar broken: every request is answered with 503
    """

    def __init__(self) -> None:
        self.uses: dict[tuple[str, str], str] = {}
        self.hosts: dict[str, str] = {}
        self.broken = False
        self.calls: list[Call] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"nova": self}))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def options(self) -> dict[str, Any]:
        """Section [nova] of a service that uses it."""
        return {"auth_type": "none", "endpoint": f"http://127.0.0.1:{self._server.server_port}/v2.1"}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def events(self) -> list[dict[str, Any]]:
        return [event for call in self.calls if call.path == EVENTS for event in call.body["events"]]

    def answer(self, call: Call) -> tuple[int, Any]:
        if self.broken:
            return 503, {"serviceUnavailable": {"code": 503, "message": "broken"}}
        if call.path == EVENTS:
            return 200, {"events": [{**event, "code": 200, "status": "completed"} for event in call.body["events"]]}
        if found := ATTACHMENT.fullmatch(call.path):
            server, volume = found.groups()
            if (server, volume) in self.uses:
                return 200, {
                    "volumeAttachment": {
                        "attachment_id": self.uses[server, volume],
                        "serverId": server,
                        "volumeId": volume,
                        "device": "/dev/vdb",
                    }
                }
        if (found := SERVER.fullmatch(call.path)) and found[1] in self.hosts:
            return 200, {"server": {"id": found[1], "OS-EXT-SRV-ATTR:host": self.hosts[found[1]]}}
        return 404, {"itemNotFound": {"code": 404, "message": "not found"}}


class _Handler(BaseHTTPRequestHandler):
    nova: ComputeServer

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length)) if length else None
        call = Call(self.command, self.path, self.headers.get("OpenStack-API-Version"), body)
        self.nova.calls.append(call)
        status, answer = self.nova.answer(call)
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None: ...
