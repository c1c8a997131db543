"""A tgtd of a test's own, on a free port and with a management socket in a directory of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

from tests.support.guest import Network
from tests.support.ports import free_port


class TgtdServer:
    """Runs from `with` on; `kill` and `start` stand for its crash and restart (it forgets all targets).

    `network`, if given, is the network that it runs in, at port 3260.
    """

    def __init__(self, network: Network | None = None) -> None:
        self._inside = network.inside if network else lambda *command: list(command)
        self.address = network.address if network else "127.0.0.1"
        self.port = 3260 if network else free_port()
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
            self._inside("tgtd", "-f", "-C", "0", "-t", "2", "--iscsi", portal),
            env={**os.environ, "TGT_IPC_SOCKET": self.socket},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 10
        while not self._answers():
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

    def _answers(self) -> bool:
        """It answers once its portal listens."""
        try:
            self.listing()
        except subprocess.CalledProcessError:
            return False
        return True
