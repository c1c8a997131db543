from __future__ import annotations

import errno
import socket
import time
from dataclasses import dataclass

import psutil

from .errors import StandaloneError


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen there now.

    :raises StandaloneError: the address is not this machine's, or the port needs root
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise StandaloneError(f"cannot listen on {host}:{port}: {error.strerror}") from None
    return True


def holder(port: int) -> str:
    """Who listens on a port, as " by NAME (process PID)"; empty when that cannot be known."""
    try:
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,)
            if listens and connection.pid:
                return f" by {psutil.Process(connection.pid).name()} (process {connection.pid})"
    except psutil.Error:
        pass
    return ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """:param option: by which the person chooses another port; `instead` is the first that is proposed
    :param patience: seconds in which who has it may still go
    """

    port: int
    purpose: str
    option: str
    instead: int
    patience: float = 0.0


def require_free(host: str, *wanted: Wanted) -> None:
    """:raises StandaloneError: ports are taken: one line with all of them, who has them, and what to try"""
    if taken := [one for one in wanted if not _comes_free(host, one)]:
        named = ", ".join(f"port {one.port} for {one.purpose} is taken{holder(one.port)}" for one in taken)
        others = " ".join(f"{one.option} {next_free(host, one.instead)}" for one in taken)
        raise StandaloneError(f"{named}: stop that, or try {others}")


def _comes_free(host: str, wanted: Wanted) -> bool:
    deadline = time.monotonic() + wanted.patience
    while not is_free(host, wanted.port):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.05)
    return True


def next_free(host: str, first: int) -> int:
    """The first free port of the hundred from `first` on.

    :raises StandaloneError: all are taken
    """
    for port in range(first, min(first + 100, 65536)):
        if is_free(host, port):
            return port
    raise StandaloneError(f"ports {first} to {first + 99} are all taken")
