"""An NFS server of a test's own, and clients in user space."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pumice.share.exports.ganesha_server import GaneshaServer
from tests.support.guest import Network
from tests.support.ports import free_port

ADDRESS = "127.0.0.1"


@contextmanager
def ganesha_server(directory: Path, network: Network | None = None) -> Iterator[GaneshaServer]:
    """A running server, for shares that are mounted below `directory/mounts`.

    In a `network` it has the usual ports there, port mapper included; else free ones of 127.0.0.1.
    """
    mounts = directory / "mounts"
    server = (
        GaneshaServer(
            directory / "ganesha", network.address, 2049, 20048, mounts=mounts, portmapper=True, prefix=network.inside()
        )
        if network
        else GaneshaServer(directory / "ganesha", ADDRESS, free_port(), free_port(), mounts=mounts)
    )
    try:
        server.start()
        yield server
    finally:
        server.stop()


class NfsClient:
    """libnfs, as the client that `address` is; `version` of NFS."""

    def __init__(self, server: GaneshaServer, version: int) -> None:
        self._where = f"version={version}&nfsport={server.port}&mountport={server.mount_port}"
        self._host = server.host

    def read(self, path: str) -> str:
        """:raises PermissionError: the server refused"""
        return self._run("nfs-cat", self._url(path))

    def names(self, path: str) -> list[str]:
        return [line.split()[-1] for line in self._run("nfs-ls", self._url(path)).splitlines()]

    def write(self, path: str, text: str, directory: Path) -> None:
        """:param directory: for a draft"""
        draft = directory / "draft"
        draft.write_text(text)
        self._run("nfs-cp", str(draft), self._url(path))

    def _url(self, path: str) -> str:
        return f"nfs://{self._host}{path}?{self._where}"

    def _run(self, *command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        if done.returncode:
            raise PermissionError(done.stdout + done.stderr)
        return done.stdout
