"""Ports for servers of a test's own."""

from __future__ import annotations

import secrets
import socket

_RANGE = range(20_000, 32_000)
"""Below those that systems give to connections (`ip_local_port_range`): one of these would be given away meanwhile."""


def free_port() -> int:
    """A port that nobody listens on, and that no other call gives while this process lives, in any test process."""
    while True:
        port = secrets.choice(_RANGE)
        if _reserved(port) and _unused(port):
            return port


def _reserved(port: int) -> bool:
    # A name in the abstract namespace is let go by the kernel with the process that has it.
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0pumice-test-port-{port}")
    except OSError:
        claim.close()
        return False
    claim.detach()
    return True


def _unused(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
