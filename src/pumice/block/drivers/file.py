"""Volumes as sparse raw files in a directory, exported over iSCSI.

    <directory>/volumes/volume-<id>         <directory>/snapshots/snapshot-<id>

On btrfs, and on XFS with reflink, snapshots, clones and reverts share data with their source and take
milliseconds; elsewhere they are sparse copies. Files are built without a name and get it when they are whole, so
a crash leaves nothing to clean up; a revert alone passes through a second name, `volume-<id>.reverted`.

A pool's `provisioned_gb` is the sum of the sizes of volumes and snapshots: a snapshot's data is shared only until
its volume is overwritten, so both may come to need their whole size.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from oslo_config import cfg

from pumice.block.drivers.base import Export, Inventory, SnapshotRef, VolumePoolStats, VolumeRef
from pumice.block.drivers.copying import (
    can_reflink,
    copy_sparse,
    name_file,
    reflink,
    unnamed_file,
)
from pumice.block.drivers.options import COMMON, declared
from pumice.block.drivers.tgt import TgtExports
from pumice.block.drivers.tgtd import Tgtd
from pumice.kernel.drivers import GIB, BackendError, ObjectMissing, checked_uuid, os_errors
from pumice.kernel.files import sync_directory

_REVERTED = ".reverted"
_log = logging.getLogger(__name__)

OPTIONS = [
    *COMMON,
    cfg.StrOpt("directory", help="Where the volumes are; by default `volumes` below state_path."),
    cfg.StrOpt("target_helper", default="tgtadm", choices=["tgtadm"], help="What exports the volumes: tgtadm is tgtd."),
    cfg.HostAddressOpt("target_ip_address", default="127.0.0.1", help="The address that initiators connect to."),
    cfg.PortOpt("target_port", default=3260, help="The port that initiators connect to."),
    cfg.StrOpt(
        "target_prefix",
        default="iqn.2026-11.org.pumice:",
        regex=r"^iqn\.[0-9]{4}-[0-9]{2}\.[0-9a-z.-]+:[0-9a-z.:-]*$",
        max_length=90,
        help="The beginning of the targets' names.",
    ),
    cfg.IntOpt("tgtd_control_port", default=0, min=0, help="The number that tgtd was started with (-C)."),
    cfg.StrOpt(
        "tgtd_socket",
        default="/var/run/tgtd/socket",
        help="tgtd's management socket without the control port; as in tgtd's variable TGT_IPC_SOCKET.",
    ),
    cfg.BoolOpt(
        "allow_any_initiator",
        default=False,
        help="Export to everyone who knows the password when a connector holds neither initiator nor ip.",
    ),
]


class FileDriver:
    """The `file` backend. Its one pool has the backend's name."""

    vendor = "Pumice"
    version = "1.0"
    protocol = "iSCSI"
    options: Sequence[cfg.Opt] = OPTIONS

    def __init__(self, section: cfg.ConfigOpts.GroupAttr, *, name: str, state_dir: Path) -> None:
        self._section = section
        self._name = name
        directory = (Path(section.directory) if section.directory else state_dir / "volumes").absolute()
        self._volumes = directory / "volumes"
        self._snapshots = directory / "snapshots"
        self._reflinks = False
        self._exports = TgtExports(
            Tgtd(f"{section.tgtd_socket}.{section.tgtd_control_port}"),
            directory=self._volumes,
            portal=(section.target_ip_address, section.target_port),
            prefix=section.target_prefix,
            lock_file=state_dir / "tgtd.lock",
            any_initiator=section.allow_any_initiator,
        )

    def start(self) -> None:
        if "," in str(self._volumes):
            raise BackendError(f"directory {self._volumes.parent} is refused: tgtd takes no path with a comma")
        with os_errors("the start", self._name):
            for directory in (self._volumes, self._snapshots):
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                directory.chmod(0o700)
            self._reflinks = can_reflink(self._volumes)
            for leftover in self._volumes.glob(f"*{_REVERTED}"):
                leftover.unlink(missing_ok=True)
        if not self._reflinks:
            _log.warning("%s: no reflinks here, snapshots and clones are full copies", self._volumes.parent)

    def stop(self) -> None:
        """Nothing is held between calls."""

    def pools(self) -> Sequence[VolumePoolStats]:
        with os_errors("the statistics", self._name):
            space = os.statvfs(self._volumes)
            files = [*_stats(self._volumes), *_stats(self._snapshots)]
        total, free = space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize
        provisioned = sum(file.st_size for file in files) / GIB
        return [
            VolumePoolStats(
                name=self._section.volume_backend_name or self._name,
                total_gb=total / GIB,
                free_gb=free / GIB,
                provisioned_gb=provisioned,
                thin=True,
                **declared(self._section, provisioned_gb=provisioned, used_gb=(total - free) / GIB),
                extra={
                    "clone_method": "reflink" if self._reflinks else "copy",
                    # Blocks that reflinks share count for each file.
                    "allocated_capacity_gb": sum(file.st_blocks * 512 for file in files) / GIB,
                },
            )
        ]

    def inventory(self) -> Inventory:
        with os_errors("the inventory", self._name):
            volumes, strange_volumes = _ids(self._volumes, "volume")
            snapshots, strange_snapshots = _ids(self._snapshots, "snapshot")
        return Inventory(volumes, snapshots, frozenset(self.exports()), strange_volumes | strange_snapshots)

    def exports(self) -> Mapping[str, str]:
        return self._exports.exports()

    def create_volume(self, volume: VolumeRef) -> None:
        self._build(self._volume_path(volume), None, volume.size)

    def delete_volume(self, volume: VolumeRef) -> None:
        path = self._volume_path(volume)
        self._exports.remove_volume(volume.id)
        with os_errors(f"deleting volume {volume.id}", self._name):
            path.with_name(path.name + _REVERTED).unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            sync_directory(self._volumes)

    def extend_volume(self, volume: VolumeRef, new_size: int) -> None:
        path = self._volume_path(volume)
        with os_errors(f"extending volume {volume.id}", self._name), _opened(path, os.O_RDWR) as file:
            size = max(os.fstat(file).st_size, new_size * GIB)
            os.ftruncate(file, size)
            os.fsync(file)
        self._exports.resize(volume.id, path, size)

    def create_snapshot(self, snapshot: SnapshotRef) -> None:
        self._build(self._snapshot_path(snapshot), snapshot.volume, snapshot.size)

    def delete_snapshot(self, snapshot: SnapshotRef) -> None:
        with os_errors(f"deleting snapshot {snapshot.id}", self._name):
            self._snapshot_path(snapshot).unlink(missing_ok=True)
            sync_directory(self._snapshots)

    def create_volume_from_snapshot(self, volume: VolumeRef, snapshot: SnapshotRef) -> None:
        self._build(self._volume_path(volume), snapshot, volume.size)

    def clone_volume(self, volume: VolumeRef, source: VolumeRef) -> None:
        self._build(self._volume_path(volume), source, volume.size)

    def revert_to_snapshot(self, volume: VolumeRef, snapshot: SnapshotRef) -> None:
        path = self._volume_path(volume)
        reverted = path.with_name(path.name + _REVERTED)
        with os_errors(f"reverting volume {volume.id}", self._name):
            if not path.exists():
                raise ObjectMissing(f"volume {volume.id} is not on backend {self._name}")
            reverted.unlink(missing_ok=True)
            self._build(reverted, snapshot, volume.size)
            reverted.replace(path)
            sync_directory(self._volumes)

    def connect(self, export: Export) -> Mapping[str, Any]:
        path = self._volume_path(export.volume)
        if not path.exists():
            raise ObjectMissing(f"volume {export.volume.id} is not on backend {self._name}")
        return self._exports.connect(export, path)

    def disconnect(self, export: Export) -> None:
        self._exports.disconnect(export)

    def _volume_path(self, volume: VolumeRef) -> Path:
        return self._volumes / f"volume-{checked_uuid(volume.id)}"

    def _snapshot_path(self, snapshot: SnapshotRef) -> Path:
        return self._snapshots / f"snapshot-{checked_uuid(snapshot.id)}"

    def _build(self, path: Path, source: VolumeRef | SnapshotRef | None, size: int) -> None:
        """Make the file at `path`, of `size` GiB or its source's size if larger, unless it is there."""
        if path.exists():
            return
        with os_errors(f"making {path.name}", self._name):
            file = unnamed_file(path.parent)
            try:
                if source:
                    self._copy(source, file)
                os.ftruncate(file, max(os.fstat(file).st_size, size * GIB))
                with contextlib.suppress(FileExistsError):  # made by another call meanwhile, whole as well
                    name_file(file, path)
            finally:
                os.close(file)

    def _copy(self, source: VolumeRef | SnapshotRef, target: int) -> None:
        path = self._volume_path(source) if isinstance(source, VolumeRef) else self._snapshot_path(source)
        with _opened(path, os.O_RDONLY) as file:
            if self._reflinks:
                reflink(file, target)
                return
            # A copy takes time, and what is written meanwhile would be half in it.
            if isinstance(source, VolumeRef) and self._exports.is_exported(source.id):
                raise BackendError(
                    f"volume {source.id} is attached, and a file system without reflinks cannot copy it as of "
                    "one moment: detach it first"
                )
            before = os.fstat(file).st_mtime_ns
            copy_sparse(file, target)
            if os.fstat(file).st_mtime_ns != before:
                raise BackendError(f"{path.name} was written to while it was copied: try again")


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    file = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        yield file
    finally:
        os.close(file)


def _ids(directory: Path, prefix: str) -> tuple[frozenset[str], frozenset[str]]:
    """The ids in the names `<prefix>-<id>` of a directory's files, and all other names."""
    ids, strange = set(), set()
    for path in directory.iterdir():
        head, _, tail = path.name.partition("-")
        try:
            ids.add(checked_uuid(tail if head == prefix else ""))
        except BackendError:
            strange.add(path.name)
    return frozenset(ids), frozenset(strange)


def _stats(directory: Path) -> Iterator[os.stat_result]:
    """The stat of each file in a directory where others delete files meanwhile."""
    for entry in os.scandir(directory):
        with contextlib.suppress(FileNotFoundError):
            yield entry.stat()
