"""TCP that is passed on to a server on this machine's loopback: from a network namespace, or to have it cut."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

_LISTEN = """
import socket, sys
channel = socket.socket(fileno=0)
listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
socket.send_fds(channel, [b"."], [listener.fileno()])
"""
_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: a close throws away what is under way, and resets the connection."""


def listener_inside(inside: Callable[..., list[str]], address: str, port: int) -> socket.socket:
    """A socket that listens in the network that `inside` enters.

    It stays in the namespace it was made in, whoever holds it: a child makes it there.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        listen = inside(sys.executable, "-c", _LISTEN, address, str(port))
        subprocess.run(listen, stdin=theirs, check=True, timeout=30)
        _, (descriptor, *_), _, _ = socket.recv_fds(ours, 1, 1)
    return socket.socket(fileno=descriptor)


class _Connection:
    """What comes to a relay, and the connection that it goes on by; over when both ends have sent all they had to."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self._ends = (client, server)
        ways = ((client, server), (server, client))
        self._threads = [threading.Thread(target=_pass_on, args=way, daemon=True) for way in ways]
        for thread in self._threads:
            thread.start()

    @property
    def over(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def reset(self) -> None:
        for end in self._ends:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            with suppress(OSError):  # it has been closed by the other side
                end.shutdown(socket.SHUT_RD)  # wakes the thread that reads from it
        for thread in self._threads:
            thread.join(10)
        self.close()

    def close(self) -> None:
        for end in self._ends:
            end.close()


class Relay:
    """Passes all that comes to `listener` on to 127.0.0.1:`port`; by default it listens on a free port (`own_port`)."""

    def __init__(self, port: int, listener: socket.socket | None = None) -> None:
        self._port = port
        self._listener = listener or socket.create_server(("127.0.0.1", 0))
        self._shut = False
        self._lock = threading.Lock()
        self._connections: list[_Connection] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    @property
    def own_port(self) -> int:
        return int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join(10)
        self._listener.close()
        self.cut()

    def cut(self) -> None:
        """Reset all connections; new ones are accepted."""
        with self._lock:
            connections, self._connections = self._connections, []
        for connection in connections:
            connection.reset()

    def shut(self) -> None:
        """Reset all connections, and each new one until `reopen`."""
        self._shut = True
        self.cut()

    def reopen(self) -> None:
        self._shut = False

    def _accept(self) -> None:
        with suppress(OSError):  # shut down
            while True:
                client, _ = self._listener.accept()
                if self._shut:
                    client.close()
                    continue
                try:
                    server = socket.create_connection(("127.0.0.1", self._port), timeout=10)
                except OSError:  # the server is down just now, and the client may come again
                    client.close()
                    continue
                server.settimeout(None)
                with self._lock:
                    self._forget_those_over()
                    self._connections.append(_Connection(client, server))

    def _forget_those_over(self) -> None:
        for connection in (over := [one for one in self._connections if one.over]):
            connection.close()
        self._connections = [one for one in self._connections if one not in over]


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):  # reset by one end: the other hears of it below
        while received := source.recv(1 << 16):
            sink.sendall(received)
    with suppress(OSError):
        if not source.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER):  # else it is being cut
            sink.shutdown(socket.SHUT_WR)
