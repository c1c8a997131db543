"""A tgtd of a test's own, on a free port and with a management socket in a directory of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self


def free_port(address: str = "127.0.0.1") -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


class TgtdServer:
    """Runs from `with` on; `kill` and `start` stand for its crash and restart (it forgets all targets)."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        self.address, self.port = address, free_port(address)
        # Not below tmp_path: a socket's path is at most 107 characters long.
        self._directory = Path(tempfile.mkdtemp(prefix="tgtd-"))
        self.socket = str(self._directory / "socket")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._directory)

    @property
    def options(self) -> dict[str, Any]:
        """Options of a file backend's section that exports by this tgtd."""
        return {"target_ip_address": self.address, "target_port": self.port, "tgtd_socket": self.socket}

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def start(self) -> None:
        portal = f"portal={self.address}:{self.port}"
        self._process = subprocess.Popen(
            ["tgtd", "-f", "-C", "0", "-t", "2", "--iscsi", portal],
            env={**os.environ, "TGT_IPC_SOCKET": self.socket},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 10
        while not self._listens():
            assert self._process.poll() is None, "tgtd ended"
            assert time.monotonic() < deadline, "tgtd did not come up"
            time.sleep(0.01)

    def kill(self) -> None:
        """SIGKILL: it ignores SIGTERM as long as there are targets."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def listing(self) -> str:
        """What `tgtadm` shows of the targets."""
        return self._tgtadm("--mode", "target", "--op", "show")

    def accounts(self) -> list[str]:
        return [line.strip() for line in self._tgtadm("--mode", "account", "--op", "show").splitlines()[1:]]

    def _tgtadm(self, *words: str) -> str:
        done = subprocess.run(
            ["tgtadm", "-C", "0", "--lld", "iscsi", *words],
            env={**os.environ, "TGT_IPC_SOCKET": self.socket},
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
        return done.stdout

    def _listens(self) -> bool:
        try:
            socket.create_connection((self.address, self.port), timeout=1).close()
            with socket.socket(socket.AF_UNIX) as link:
                link.connect(f"{self.socket}.0")
        except OSError:
            return False
        return True
