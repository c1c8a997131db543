"""The `openstack` command for scripts that type it many times: nobody waits for its start each time.

`python -m tests.acceptance.preloaded SOCKET` loads it once and forks for each command that comes to the socket.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.waiting import eventually

ROOT = Path(__file__).parents[2]
ASKING = """\
#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as desk:
    desk.connect({path!r})
    asked = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(desk, [len(asked).to_bytes(4)], [0, 1, 2])
    desk.sendall(asked)
    sys.exit((desk.recv(1) or b"\\1")[0])
"""


@contextmanager
def preloaded(directory: Path) -> Iterator[Path]:
    """A directory with an `openstack`, for the front of a PATH."""
    path = directory / "desk"
    command = directory / "openstack"
    command.write_text(ASKING.format(python=sys.executable, path=str(path)))
    command.chmod(0o755)
    with subprocess.Popen([sys.executable, "-W", "ignore", "-m", __name__, str(path)], cwd=ROOT) as desk:
        try:
            eventually(path.exists, 120)
            yield directory
        finally:
            desk.kill()


def _serve(path: str) -> None:
    from openstackclient import shell  # noqa: PLC0415 - what it imports warns, which ends tests

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as desk:
        desk.bind(path)
        desk.listen()
        while True:
            asking, _ = desk.accept()
            with asking:
                if not os.fork():
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    asking.send(bytes([_answer(asking, shell.main)]))
                    os._exit(0)


def _answer(asking: socket.socket, command: Callable[[list[str]], int]) -> int:
    """Run the command with the words, the directory, the environment and the files of who asks; its exit status."""
    size, files, *_ = socket.recv_fds(asking, 4, 3)
    with asking.makefile("rb") as rest:
        words, directory, environment = json.loads(rest.read(int.from_bytes(size)))
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    try:
        return command(words)
    except SystemExit as end:  # argparse's way to complain
        return int(end.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


if __name__ == "__main__":
    (path,) = sys.argv[1:]
    sys.argv = ["openstack"]  # which is its name in what it says
    _serve(path)
