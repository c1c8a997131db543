"""A server process that Pumice starts and watches, and finds again after a crash of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from pumice.kernel.drivers import BackendError
from pumice.kernel.files import write_private

_START_SECONDS = 15.0
_LONGEST_SOCKET_PATH = 100  # the kernel takes 107 bytes


class Daemon:
    """One process, with its log and the record of its id in `directory`.

    It outlives a `kill -9` of ours, and is then taken over, unless it would be started differently now.

    :param ready: whether it answers
    """

    def __init__(self, name: str, directory: Path, *, ready: Callable[[], bool]) -> None:
        self._name = name
        self._ready = ready
        self._record = directory / f"{name}.json"
        self._log = directory / f"{name}.log"
        self._process: psutil.Process | None = None
        self._child: subprocess.Popen[bytes] | None = None  # the same, unless it was taken over

    @property
    def pid(self) -> int:
        """Of the process that runs; 0 when none does."""
        return self._process.pid if self._process else 0

    @property
    def alive(self) -> bool:
        with suppress(psutil.NoSuchProcess):
            process = self._process
            return process is not None and process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        return False

    def start(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None, *, configuration: str = ""
    ) -> bool:
        """Take over the process that a killed predecessor left, or start one.

        :param configuration: what it reads when it starts
        :returns: True when a new one runs
        :raises BackendError: it is missing, or did not come up
        """
        extra = dict(environment or {})
        wanted = {"command": list(command), "environment": extra, "configuration": configuration}
        self._process, left = self._left_behind()
        if self._process:
            if left == wanted and self._ready():
                return False
            self.stop()
        with self._log.open("ab") as log:
            try:
                self._child = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**os.environ, **extra},
                    start_new_session=True,
                )
            except FileNotFoundError:
                raise BackendError(f"{command[0]} is missing") from None
        self._process = psutil.Process(self._child.pid)
        record = {**wanted, "pid": self.pid, "created": self._process.create_time()}
        write_private(self._record, json.dumps(record))
        self._wait_until_ready()
        return True

    def stop(self, patience: float = 10.0) -> None:
        """End it and its children: with SIGTERM, and what is left after `patience` seconds with SIGKILL."""
        if self._process is not None:
            with suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
                self._process.terminate()
                self._process.wait(patience)
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            with suppress(psutil.NoSuchProcess):
                self._process.wait(patience)
        if self._child is not None:
            self._child.wait(patience)
        self._process = self._child = None
        self._record.unlink(missing_ok=True)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self._ready():
            if not self.alive or time.monotonic() > deadline:
                self.stop()
                lines = self._log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
                raise BackendError(f"{self._name} did not start: {lines[-1]} (see {self._log})")
            time.sleep(0.02)

    def _left_behind(self) -> tuple[psutil.Process | None, dict[str, object]]:
        """The process that the record names, if it still runs, and how it was started."""
        with suppress(OSError, ValueError, KeyError, psutil.NoSuchProcess):
            record = json.loads(self._record.read_text())
            process = psutil.Process(record.pop("pid"))
            if abs(process.create_time() - record.pop("created")) < 1:
                return process, record
        return None, {}


def socket_directory(directory: Path) -> Path:
    """A directory for sockets: `directory`, or where its path is too long for one, another that belongs to it.

    :raises BackendError: that one is somebody else's
    """
    if len(os.fsencode(directory)) + len("/socket") <= _LONGEST_SOCKET_PATH:
        return directory
    status = directory.stat()
    other = Path(tempfile.gettempdir()) / f"pumice-{os.geteuid()}-{status.st_dev}-{status.st_ino}"
    other.mkdir(mode=0o700, exist_ok=True)
    if other.stat().st_uid != os.geteuid():
        raise BackendError(f"{other} belongs to somebody else")
    return other


def program(name: str, package: str) -> str:
    """The path of a program, looked for in the system's folders too, which a user's PATH may lack.

    :raises BackendError: it is not there; says which Debian package has it
    """
    path = shutil.which(name) or shutil.which(name, path="/usr/local/sbin:/usr/sbin:/sbin")
    if path is None:
        raise BackendError(f"{name} is missing: apt-get install {package}")
    return path
