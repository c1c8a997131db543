from __future__ import annotations

import errno
import socket
import time

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


def require_free(host: str, port: int, purpose: str, option: str, *, patience: float = 0.0) -> None:
    """:raises StandaloneError: the port is still taken after `patience` seconds"""
    deadline = time.monotonic() + patience
    while not is_free(host, port):
        if time.monotonic() >= deadline:
            raise StandaloneError(f"port {port} for {purpose} is taken{holder(port)}: stop that, or use {option}")
        time.sleep(0.05)


def next_free(host: str, first: int) -> int:
    """The first free port of the hundred from `first` on.

    :raises StandaloneError: all are taken
    """
    for port in range(first, min(first + 100, 65536)):
        if is_free(host, port):
            return port
    raise StandaloneError(f"ports {first} to {first + 99} are all taken")
