"""Backends of real storage on a file system in a file, with the servers that export from it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice.share.drivers.mounts import unmount_below
from pumice.share.exports.mounts import unshare_mounts
from tests.support.ganesha import ganesha_server
from tests.support.loopfs import loop_filesystem
from tests.support.samba import add_user, open_directory, samba_server
from tests.support.tgtd import TgtdServer

MEBIBYTES = 65536


@dataclass(frozen=True, slots=True)
class RealBackend:
    """:param root: of its file system; its own files are in a directory there
    :param options: of its section
    :param kill_servers: kills what exports from it, and starts that again
    """

    root: Path
    options: Mapping[str, Any]
    kill_servers: Callable[[], None]


@contextmanager
def real_volumes(directory: Path, kind: str = "btrfs") -> Iterator[RealBackend]:
    """:param kind: of a file system, as in `loopfs`"""
    with loop_filesystem(kind, directory, MEBIBYTES) as root, TgtdServer() as tgtd:

        def kill() -> None:
            tgtd.kill()
            tgtd.start()

        yield RealBackend(root, {"volume_driver": "file", "directory": root / "volumes", **tgtd.options}, kill)


@contextmanager
def real_shares(kind: str = "btrfs") -> Iterator[RealBackend]:
    """:param kind: of a btrfs, as in `loopfs`"""
    with (
        open_directory() as state,
        loop_filesystem(kind, state, MEBIBYTES) as root,
        _mounted(state) as mounts,
        ganesha_server(state) as nfs,
        samba_server(state) as smb,
    ):
        add_user(smb, "games")

        def kill() -> None:
            for server in (nfs, smb):
                os.kill(server.pid, signal.SIGKILL)
                server.restart()

        options = {
            "share_driver": "btrfs",
            "directory": root / "shares",
            "mounts_directory": mounts,
            "export_protocols": "NFS,CIFS",
            "ganesha_bus": nfs.bus,
            "ganesha_directory": state / "ganesha" / "exports",
            "nfs_port": nfs.port,
            "smb_port": smb.port,
            "samba_configuration": smb.configuration,
        }
        yield RealBackend(root, options, kill)


@contextmanager
def _mounted(directory: Path) -> Iterator[Path]:
    """Where shares are mounted for servers; unmounted after these have ended."""
    try:
        yield directory / "mounts"
    finally:
        unmount_below(directory / "mounts")
        unshare_mounts(directory / "mounts")
