"""The Keystone child process: `python -m pumice.standalone.keystone_child DIRECTORY HOST PORT`.

Sets Keystone up when that has not happened yet (or its release has changed), then serves it until its standard
input ends, which it does when the parent is gone, however the parent went.

Importing Keystone takes seconds, and each of its set-up commands keeps state in module globals; so it is imported
once, and each command runs in a fork of this process.
"""

from __future__ import annotations

import fcntl
import os
import sys
import threading
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from oslo_service import backend as oslo_service

PREPARED = "prepared"


def _set_up(directory: Path, public_url: str) -> None:
    from keystone.cmd.manage import main  # noqa: PLC0415 - costs a second that later starts are spared

    owner = ["--keystone-user", str(os.getuid()), "--keystone-group", str(os.getgid())]
    commands = [
        ["db_sync"],
        ["fernet_setup", *owner],
        ["receipt_setup", *owner],
        ["credential_setup", *owner],
        ["bootstrap", "--bootstrap-public-url", public_url, "--bootstrap-region-id", "RegionOne"],
    ]
    for command in commands:
        child = os.fork()
        if child == 0:
            sys.argv = ["keystone-manage", "--config-file", str(directory / "keystone.conf"), *command]
            code = 1
            try:
                main()
                code = 0
            except SystemExit as end:
                if isinstance(end.code, str):
                    sys.stderr.write(f"{end.code}\n")
                else:
                    code = end.code or 0
            finally:
                sys.stderr.flush()
                os._exit(code)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
            sys.exit(f"keystone-manage {command[0]} failed")


def _end_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)


class OneWriter:
    """WSGI middleware: requests that change something go one at a time.

    SQLite has one writer, and a transaction that finds only half-way that it has to write cannot wait for another:
    it fails at once, and Keystone does not run it again. Making a token writes too, at a user's first login of a day.
    """

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app
        self._lock = threading.Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] in ("GET", "HEAD"):
            return self._app(environ, start_response)
        with self._lock:
            return list(self._app(environ, start_response))


def main() -> None:
    directory, host, port = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Threads serve here. What is below Keystone would import eventlet for nothing, a quarter of the start's time.
    sys.modules["eventlet"] = None  # type: ignore[assignment]
    oslo_service.init_backend(oslo_service.BackendType.THREADING)
    os.umask(0o077)
    os.chdir(directory)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a predecessor whose parent was killed is just ending
        release = metadata.version("keystone")
        prepared = directory / PREPARED
        if not prepared.exists() or prepared.read_text() != release:
            _set_up(directory, f"http://{host}:{port}/v3")
            prepared.write_text(release)
        os.environ.pop("OS_BOOTSTRAP_PASSWORD", None)
        os.environ["OS_KEYSTONE_CONFIG_DIR"] = str(directory)
        sys.argv = ["keystone"]  # the application parses it when imported

        from cheroot.wsgi import Server  # noqa: PLC0415
        from keystone.wsgi.api import application  # noqa: PLC0415

        Server((host, port), OneWriter(application), numthreads=10, request_queue_size=128).safe_start()


if __name__ == "__main__":
    main()
