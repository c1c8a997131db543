"""A whole service as a process of its own, for tests that kill it.

    PUMICE_CONFIG_FILE=block.conf python -m tests.support.service_process block PORT

Callers are named by a header instead of a token (tests.support.identity), so that no Keystone is needed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from importlib import import_module

from cheroot.wsgi import Server

from pumice.kernel import config, logging
from tests.support.identity import Identity


def main(name: str, port: int) -> None:
    conf = config.load(name, [os.environ["PUMICE_CONFIG_FILE"]])
    logging.setup(conf)
    service = import_module(f"pumice.{name}.service").SERVICE(conf)
    service.start()
    server = Server(("127.0.0.1", port), service.wsgi(lambda app: Identity(app, service.policy)), numthreads=32)
    server.prepare()
    threading.Thread(target=server.serve, daemon=True).start()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    stop.wait()
    server.stop()
    service.stop()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
