"""The iSCSI target of `pumice up`: a tgtd of its own, which outlives a `kill -9` and is then taken over."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from pumice.block.drivers.tgtd import Mode, Op, Tgtd
from pumice.kernel.drivers import BackendError
from pumice.kernel.files import write_private

from . import ports
from .errors import StandaloneError
from .storage import find_tool

FIRST_PORT = 3260
SECONDS_BETWEEN_STARTS = 5.0
THREADS_PER_LUN = "4"
"""tgtd would start 16 for each, which a hundred volumes make 1,600."""
_LONGEST_SOCKET_PATH = 100  # the kernel takes 107 bytes


class TargetDaemon:
    """tgtd with its management socket, pid file and log in `directory`.

    The portal's port is kept from the first start on, because connections of attached volumes name it.
    """

    def __init__(self, directory: Path, host: str, port: int | None) -> None:
        self._directory = directory
        self._host = host
        self._record = directory / "tgtd.json"
        self._known = self._read_record()
        self._wanted = port
        self._process: psutil.Process | None = None
        self._child: subprocess.Popen[bytes] | None = None  # the same, unless it was taken over
        self._not_before = 0.0
        self.port = port or self._known.get("port") or FIRST_PORT

    @property
    def socket(self) -> Path:
        """The management socket, to which tgtd adds `.0`; elsewhere when the data directory's path is too long."""
        plain = self._directory / "socket"
        if len(os.fsencode(plain)) <= _LONGEST_SOCKET_PATH:
            return plain
        status = self._directory.stat()
        return Path(tempfile.gettempdir()) / f"pumice-{os.geteuid()}-{status.st_dev}-{status.st_ino}" / "socket"

    @property
    def _listening(self) -> Path:
        return self.socket.with_name("socket.0")

    @property
    def alive(self) -> bool:
        if self._process is None or (self._child is not None and self._child.poll() is not None):
            return False
        with suppress(psutil.NoSuchProcess):
            return self._process.is_running() and self._process.status() != psutil.STATUS_ZOMBIE
        return False

    def start(self) -> bool:
        """Take over the tgtd that a killed predecessor left, or start one.

        :returns: True when a new one runs, which has no exports yet
        :raises StandaloneError: tgtd is missing, its port is taken, or it ended at once
        """
        program = find_tool("tgtd", "tgt")
        left = self._left_behind()
        if left is not None:
            if self.port == self._known["port"] and self._host == self._known["host"] and self._answers():
                self._process = left
                return False
            self._process = left
            self.stop()
        self._choose_port()
        self._spawn(program)
        return True

    def check(self) -> bool:
        """Start a new one if it has died, but not all the time while it keeps dying.

        :returns: True when a new one was started
        """
        if self.alive or time.monotonic() < self._not_before:
            return False
        self._not_before = time.monotonic() + SECONDS_BETWEEN_STARTS
        self._spawn(find_tool("tgtd", "tgt"))
        return True

    def stop(self) -> None:
        """End it. It keeps no data back, and ignores a SIGTERM as long as it has targets."""
        if self._process is not None:
            with suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
                self._process.kill()
                self._process.wait(5)
        if self._child is not None:
            self._child.wait(5)
        self._process = self._child = None
        if self.socket.parent != self._directory:
            shutil.rmtree(self.socket.parent, ignore_errors=True)

    def _choose_port(self) -> None:
        if self._wanted or self._known:
            ports.require_free(self._host, ports.Wanted(self.port, "iSCSI", "--iscsi-port", 9260, patience=2.0))
        else:
            self.port = ports.next_free(self._host, FIRST_PORT)

    def _spawn(self, program: str) -> None:
        self.socket.parent.mkdir(mode=0o700, exist_ok=True)
        if self.socket.parent.stat().st_uid != os.geteuid():
            raise StandaloneError(f"{self.socket.parent} belongs to somebody else")
        self._listening.unlink(missing_ok=True)
        with (self._directory / "tgtd.log").open("w") as log:
            self._child = subprocess.Popen(
                [program, "-f", "-C", "0", "-t", THREADS_PER_LUN, "--iscsi", f"portal={self._host}:{self.port}"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=os.environ | {"TGT_IPC_SOCKET": str(self.socket)},
                start_new_session=True,
            )
        self._process = psutil.Process(self._child.pid)
        record = {
            "host": self._host,
            "port": self.port,
            "pid": self._process.pid,
            "created": self._process.create_time(),
        }
        write_private(self._record, json.dumps(record))
        self._known = record
        deadline = time.monotonic() + 5
        while not self._answers():
            if not self.alive or time.monotonic() > deadline:
                self.stop()
                raise StandaloneError(f"tgtd did not start: {self._last_words()} (see {self._directory}/tgtd.log)")
            time.sleep(0.01)

    def _answers(self) -> bool:
        # A whole request, for tgtd may turn for ever about a connection that ends without one.
        try:
            Tgtd(str(self._listening)).call(Mode.ACCOUNT, Op.SHOW)
        except BackendError:
            return False
        return True

    def _last_words(self) -> str:
        lines = (self._directory / "tgtd.log").read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def _left_behind(self) -> psutil.Process | None:
        with suppress(psutil.NoSuchProcess, KeyError):
            process = psutil.Process(self._known["pid"])
            if process.name() == "tgtd" and abs(process.create_time() - self._known["created"]) < 1:
                return process
        return None

    def _read_record(self) -> dict[str, Any]:
        try:
            return dict(json.loads(self._record.read_text()))
        except (OSError, ValueError):
            return {}
