"""TCP from a network namespace to a server on this machine's loopback."""

from __future__ import annotations

import socket
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


class Relay:
    """Listens on `address`:`port` in the network that `inside` enters, and passes all on to 127.0.0.1:`port` here.

    A socket stays in the namespace it was made in, whoever holds it: a child makes the listening one there.
    """

    def __init__(self, inside: Callable[..., list[str]], address: str, port: int) -> None:
        self._port = port
        ours, theirs = socket.socketpair()
        with ours, theirs:
            listen = inside(sys.executable, "-c", _LISTEN, address, str(port))
            subprocess.run(listen, stdin=theirs, check=True, timeout=30)
            _, (descriptor, *_), _, _ = socket.recv_fds(ours, 1, 1)
        self._listener = socket.socket(fileno=descriptor)
        self._open = {self._listener}
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for end in list(self._open):
            with suppress(OSError):  # the other side was faster
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        for end in self._open:
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):  # shut down
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self._port), timeout=10)
                except OSError:  # the server is down just now, and the client may come again
                    client.close()
                    continue
                server.settimeout(None)
                self._open |= {client, server}
                for source, sink in ((client, server), (server, client)):
                    self._threads.append(threading.Thread(target=self._pass_on, args=(source, sink)))
                    self._threads[-1].start()

    @staticmethod
    def _pass_on(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):  # reset by one end: the other hears of it below
            while received := source.recv(1 << 16):
                sink.sendall(received)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)
