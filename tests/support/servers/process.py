"""A server of a test's own: a process in the foreground, on free ports of 127.0.0.1, with its files in a directory."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.support.waiting import eventually

ADDRESS = "127.0.0.1"
START_SECONDS = 60.0
MEMORY = Path("/dev/shm")
NEEDED = 6 << 30
"""Bytes: the databases of all tests, on MariaDB."""


class Server:
    """Runs within `with`. What a server must do before its first start is in its own `prepare`.

    :param user: whom the process runs as, and whose the directory is; with None, as we do
    """

    def __init__(self, name: str, user: str | None = None) -> None:
        self.name = name
        self.user = user
        # Not below tmp_path, which only its owner reaches: several of these servers refuse to be root.
        self.directory = Path(tempfile.mkdtemp(prefix=f"pumice-{name}-", dir=_place()))
        self.log = self.directory / "log"
        self.starts = 0
        self._process: subprocess.Popen[bytes] | None = None
        if user:
            shutil.chown(self.directory, user, user)

    @property
    def command(self) -> Sequence[str]:
        raise NotImplementedError

    @property
    def environment(self) -> Mapping[str, str]:
        return {}

    @property
    def runs(self) -> bool:
        """Whether it was started and not ended since, by us."""
        return self._process is not None

    def prepare(self) -> None:
        """Make what the first start needs."""

    def ready(self) -> bool:
        """Whether it answers; may raise OSError or a subprocess's error for no."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        try:
            self.prepare()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.directory)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                env={**os.environ, **self.environment},
                start_new_session=True,
                **self._identity(),
            )
        self.starts += 1
        eventually(self._answers, START_SECONDS, self._why)

    def stop(self) -> None:
        """SIGTERM, and wait for its orderly end."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL, to its children too."""
        self._end(signal.SIGKILL)

    def run(self, *command: str) -> str:
        """Run a command as the server's user in its directory, and return what it prints."""
        done = subprocess.run(
            command,
            cwd=self.directory,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
            **self._identity(),
        )
        assert done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}"
        return done.stdout

    def _answers(self) -> bool:
        assert self._process
        assert self._process.poll() is None, f"{self.name} ended: {self._why()}"
        try:
            return self.ready()
        except (OSError, AssertionError):
            return False

    def _why(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]

    def _identity(self) -> dict[str, str | list[str]]:
        return {"user": self.user, "group": self.user, "extra_groups": []} if self.user else {}

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
        try:
            self._process.wait(START_SECONDS)
        finally:
            self._process = None


def _place() -> Path | None:
    """Memory where there is enough of it: making tables there takes MariaDB a tenth of the time."""
    return MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > NEEDED else None
