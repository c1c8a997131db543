"""A service as a process of its own, for tests that kill it: `python -m tests.support.service_process NAME FILE PORT`.

Callers are named by a header instead of a token (tests.support.identity), so that no Keystone is needed.
"""

from __future__ import annotations

import signal
import sys
import threading

from cheroot.wsgi import Server

from pumice.kernel import config, logging
from pumice.kernel.db import migrations
from pumice.kernel.db.engine import Database
from tests.support.identity import Identity
from tests.support.served import SERVED


def main(name: str, file: str, port: int) -> None:
    conf = config.load(name, [file])
    logging.setup(conf)
    migrations.upgrade(Database(conf.database.connection), name)
    service = SERVED[name].make(conf)
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
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
