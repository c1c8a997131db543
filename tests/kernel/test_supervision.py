from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

import pytest
import requests

from pumice.kernel.metrics import Metrics
from pumice.kernel.supervision import listening
from tests.support.ports import free_port


class Watched:
    def __init__(self) -> None:
        self.metrics = Metrics("block")
        self.reasons: Sequence[str] = ()

    def trouble(self) -> Sequence[str]:
        return self.reasons


def test_supervisors_are_answered() -> None:
    watched, port = Watched(), free_port()
    with listening("127.0.0.1", port, watched):

        def ask(path: str, method: str = "GET") -> tuple[int, Any]:
            answer = requests.request(method, f"http://127.0.0.1:{port}{path}", timeout=60)
            return answer.status_code, answer.json() if answer.content else None

        assert ask("/healthcheck") == ask("/healthcheck/ready") == (200, {"status": "ok"})
        assert ask("/healthcheck", "HEAD") == (200, None)
        watched.reasons = ["The database does not answer."]
        assert ask("/healthcheck/ready") == (503, {"status": "unavailable", "reasons": watched.reasons})
        assert ask("/healthcheck/ready", "HEAD") == (503, None)
        assert ask("/healthcheck") == (200, {"status": "ok"})
        assert ask("/healthcheck", "POST") == ask("/v3") == (404, None)
        assert "# HELP pumice_request_seconds" in requests.get(f"http://127.0.0.1:{port}/metrics", timeout=60).text


def test_an_address_that_is_taken_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"), listening("127.0.0.1", taken.getsockname()[1], Watched()):
            pass
