from __future__ import annotations

import socket

import pytest


@pytest.fixture
def free_port():
    """Gives another free port at each call."""

    def pick() -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]

    return pick
