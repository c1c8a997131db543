"""Shares as btrfs subvolumes, each limited to its size.

    <directory>/shares/<id>       <directory>/snapshots/<id> (read only)       <directory>/unmanaged/<name>

A share's limit counts what it refers to, data that it has in common with snapshots included: writes beyond its size
fail with EDQUOT. What a snapshot keeps of overwritten data takes the pool's room and counts for no share.

Subvolumes are built as `<id>.new` and get their name when they are whole. A revert exchanges that name with the
share's, so the share is never half of either. To who has it mounted it is another file system then: NFS clients
mount again.

Each exported subvolume is also mounted by itself, below `mounts/<backend>` in the state directory, and exported from
there: NFS-Ganesha refuses a subvolume that is no mount.
"""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from oslo_config import cfg

from pumice.kernel.drivers import GIB, BackendError, ObjectMissing, PoolStats, checked_uuid, os_errors
from pumice.share.drivers import subvolumes
from pumice.share.drivers.base import Applied, Inventory, Rule, ShareRef, SnapshotRef, WouldLoseData
from pumice.share.drivers.base import Path as Location
from pumice.share.drivers.exporters import OPTIONS as EXPORTERS
from pumice.share.drivers.exporters import configured_exporters
from pumice.share.drivers.mounts import Mounts
from pumice.share.drivers.options import COMMON, declared
from pumice.share.exports.base import Exporter

_BUILDING = ".new"

OPTIONS = [
    *COMMON,
    *EXPORTERS,
    cfg.StrOpt("directory", help="Where the shares are, on btrfs; by default `shares` below state_path."),
    cfg.StrOpt(
        "mounts_directory",
        help="Where shares are mounted for the file servers; by default `mounts` below state_path. For CIFS, everybody "
        "must be able to pass all directories that lead there.",
    ),
    cfg.StrOpt(
        "share_root_mode",
        default="0777",
        regex="^[0-7]{3,4}$",
        help="Mode of a new share's root directory, octal. Its clients are told by rules, not by this.",
    ),
    cfg.StrOpt(
        "share_root_owner",
        default="0:0",
        regex="^[0-9]{1,9}:[0-9]{1,9}$",
        help="Owner of a new share's root directory, as numbers of user and group.",
    ),
]


class BtrfsDriver:
    """The `btrfs` backend. Its one pool has the backend's name.

    :param exporters: the file servers by protocol, in place of those that the section names
    """

    vendor = "Pumice"
    version = "1.0"
    options: Sequence[cfg.Opt] = OPTIONS

    def __init__(
        self,
        section: cfg.ConfigOpts.GroupAttr,
        *,
        name: str,
        state_dir: Path,
        exporters: Mapping[str, Exporter] | None = None,
    ) -> None:
        self._section = section
        self._name = name
        self._directory = (Path(section.directory) if section.directory else state_dir / "shares").absolute()
        self._shares = self._directory / "shares"
        self._snapshots = self._directory / "snapshots"
        self._unmanaged = self._directory / "unmanaged"
        mounts = Path(section.mounts_directory) if section.mounts_directory else state_dir / "mounts"
        self._mounts = Mounts(mounts.absolute() / name)
        self._exporters = configured_exporters(section, state_dir) if exporters is None else exporters
        self.protocols: Sequence[str] = list(self._exporters)
        self._discarded: set[Path] = set()
        self._discarding = threading.Lock()

    def start(self) -> None:
        """Also ends what a killed worker had begun, and mounts again what was mounted before a restart."""
        with os_errors("the start", self._name):
            for directory in (self._shares, self._snapshots, self._unmanaged):
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            subvolumes.enable_quotas(self._directory)
            for leftover in self._shares.glob(f"*{_BUILDING}"):
                if subvolumes.is_subvolume(leftover):
                    subvolumes.delete(leftover)
            self._mounts.start(self._source)
        for exporter in self._exporters.values():
            exporter.start()

    def stop(self) -> None:
        """Shares stay exported, and so mounted: see `Mounts.unmount_all`."""
        for exporter in self._exporters.values():
            exporter.stop()

    def pools(self) -> Sequence[PoolStats]:
        """Also removes what could not be removed while the disk was full."""
        with self._discarding:
            for path in tuple(self._discarded):
                self._discarded.remove(path)
                self._discard(path)
        with os_errors("the statistics", self._name):
            space = os.statvfs(self._directory)
            limits = subvolumes.usages(self._directory)
            ids = {path.name for path in self._shares.iterdir()}
        total, free = space.f_blocks * space.f_frsize / GIB, space.f_bavail * space.f_frsize / GIB
        # By the id alone: the paths are those from the file system's top, which need not be mounted.
        provisioned = sum(used.limit or 0 for path, used in limits.items() if path.rpartition("/")[2] in ids) / GIB
        return [
            PoolStats(
                name=self._section.share_backend_name or self._name,
                total_gb=total,
                free_gb=free,
                provisioned_gb=provisioned,
                thin=True,
                **declared(self._section, provisioned_gb=provisioned, used_gb=total - free),
            )
        ]

    def inventory(self) -> Inventory:
        with os_errors("the inventory", self._name):
            shares, strange_shares = _ids(self._shares)
            snapshots, strange_snapshots = _ids(self._snapshots)
            mounts = self._mounts.ids()
        exports = {  # a server may have those of other backends too
            id: rules
            for exporter in self._exporters.values()
            for id, rules in exporter.exports().items()
            if id in mounts
        }
        leftovers = strange_shares | strange_snapshots | {f"mounts/{id}" for id in mounts - shares - snapshots}
        return Inventory(shares, snapshots, exports, leftovers)

    def exports(self) -> frozenset[str]:
        ids = (id for exporter in self._exporters.values() for id in exporter.ids())
        return self._mounts.ids().intersection(ids)

    # Shares

    def create_share(self, share: ShareRef) -> Sequence[Location]:
        self._build(share, None)
        return self._export_share(share)

    def create_share_from_snapshot(self, share: ShareRef, snapshot: SnapshotRef) -> Sequence[Location]:
        self._build(share, snapshot)
        return self._export_share(share)

    def delete_share(self, share: ShareRef) -> None:
        path = self._share_path(share)
        self._withdraw(share.id, share.proto)
        with os_errors(f"deleting share {share.id}", self._name):
            for each in (_building(path), path):
                if each.exists():
                    subvolumes.delete(each)

    def extend_share(self, share: ShareRef, new_size: int) -> None:
        path = self._share_path(share, must_exist=True)
        now = subvolumes.usage(path).limit
        if now is None or now < new_size * GIB:
            subvolumes.limit(path, new_size * GIB)

    def shrink_share(self, share: ShareRef, new_size: int) -> None:
        path = self._share_path(share, must_exist=True)
        before = subvolumes.usage(path, exact=True)
        self._refuse_to_lose(share, before, new_size)
        subvolumes.limit(path, new_size * GIB)
        try:  # what was written in between
            self._refuse_to_lose(share, subvolumes.usage(path, exact=True), new_size)
        except WouldLoseData:
            subvolumes.limit(path, before.limit or share.size * GIB)
            raise

    def ensure_share(self, share: ShareRef) -> Sequence[Location]:
        self._share_path(share, must_exist=True)
        return self._export_share(share)

    def apply_access(self, share: ShareRef, rules: Sequence[Rule]) -> Mapping[str, Applied]:
        self._share_path(share, must_exist=True)
        return self._exporter(share.proto).apply(share.id, rules)

    # Snapshots

    def create_snapshot(self, snapshot: SnapshotRef) -> str:
        path = self._snapshot_path(snapshot)
        with os_errors(f"making snapshot {snapshot.id}", self._name):
            if not path.exists():
                subvolumes.snapshot(self._share_path(snapshot.share, must_exist=True), path, read_only=True)
        return _place(snapshot)

    def delete_snapshot(self, snapshot: SnapshotRef) -> None:
        path = self._snapshot_path(snapshot)
        self._withdraw(snapshot.id, snapshot.share.proto)
        with os_errors(f"deleting snapshot {snapshot.id}", self._name):
            if path.exists():
                subvolumes.delete(path)

    def revert_to_snapshot(self, share: ShareRef, snapshot: SnapshotRef) -> None:
        path = self._share_path(share, must_exist=True)
        new = _building(path)
        with os_errors(f"reverting share {share.id}", self._name):
            self._furnish(new, share, snapshot)
            try:
                subvolumes.exchange(new, path)
            except OSError:  # it may have taken place all the same
                self._export_share(share)
                self._discard(new)
                raise
            self._export_share(share)
            self._discard(new)

    def export_snapshot(self, snapshot: SnapshotRef) -> Sequence[Location]:
        path = self._snapshot_path(snapshot, must_exist=True)
        return self._export(snapshot.id, path, snapshot.share.proto, f"snapshot-{snapshot.id}", read_only=True)

    def apply_snapshot_access(self, snapshot: SnapshotRef, rules: Sequence[Rule]) -> Mapping[str, Applied]:
        self._snapshot_path(snapshot, must_exist=True)
        return self._exporter(snapshot.share.proto).apply(snapshot.id, rules)

    # What was made elsewhere

    def manage_share(self, share: ShareRef, path: str, options: Mapping[str, str]) -> tuple[int, Sequence[Location]]:  # noqa: ARG002
        """`path` is an export location, or that of a subvolume below `directory`."""
        target = self._share_path(share)
        with os_errors(f"managing share {share.id}", self._name):
            self._take(path, target, read_only=False)
            used = subvolumes.usage(target, exact=True)
            size = max(math.ceil(max(used.referenced, used.limit or 0) / GIB), 1)
            subvolumes.limit(target, size * GIB)
        return size, self._export_share(share)

    def unmanage_share(self, share: ShareRef) -> None:
        self._withdraw(share.id, share.proto)
        self._leave(self._share_path(share), _export_name(share))

    def manage_snapshot(self, snapshot: SnapshotRef, location: str, options: Mapping[str, str]) -> int:  # noqa: ARG002
        """`location` is what `create_snapshot` said, or the path of a read-only subvolume below `directory`."""
        target = self._snapshot_path(snapshot)
        with os_errors(f"managing snapshot {snapshot.id}", self._name):
            self._take(location, target, read_only=True)
            return max(math.ceil(subvolumes.usage(target, exact=True).referenced / GIB), 1)

    def unmanage_snapshot(self, snapshot: SnapshotRef) -> None:
        self._withdraw(snapshot.id, snapshot.share.proto)
        self._leave(self._snapshot_path(snapshot), Path(snapshot.provider_location or _place(snapshot)).name)

    # Paths

    def _share_path(self, share: ShareRef, *, must_exist: bool = False) -> Path:
        path = self._shares / checked_uuid(share.id)
        if must_exist and not path.exists():
            raise ObjectMissing(f"share {share.id} is not on backend {self._name}")
        return path

    def _snapshot_path(self, snapshot: SnapshotRef, *, must_exist: bool = False) -> Path:
        path = self._snapshots / checked_uuid(snapshot.id)
        if must_exist and not path.exists():
            raise ObjectMissing(f"snapshot {snapshot.id} is not on backend {self._name}")
        return path

    def _source(self, id: str) -> Path | None:
        """What is exported under an id."""
        return next((path for path in (self._shares / id, self._snapshots / id) if path.exists()), None)

    # Subvolumes

    def _build(self, share: ShareRef, source: SnapshotRef | None) -> None:
        path = self._share_path(share)
        self._exporter(share.proto)
        if path.exists():
            return
        with os_errors(f"making share {share.id}", self._name):
            self._furnish(_building(path), share, source)
            try:
                subvolumes.move(_building(path), path)
            except OSError:
                self._discard(_building(path))
                raise

    def _furnish(self, path: Path, share: ShareRef, source: SnapshotRef | None) -> None:
        """Make a subvolume for the share at `path`; nothing is there when this fails, or it is discarded."""
        with self._discarding:
            if path.exists():
                subvolumes.delete(path)
            self._discarded.discard(path)
        try:
            if source:
                subvolumes.snapshot(self._snapshot_path(source, must_exist=True), path)
            else:
                subvolumes.create(path)
                owner, group = map(int, self._section.share_root_owner.split(":"))
                os.chown(path, owner, group)
                path.chmod(int(self._section.share_root_mode, 8))
            subvolumes.limit(path, share.size * GIB)
        except (BackendError, OSError):
            self._discard(path)
            raise

    def _discard(self, path: Path) -> None:
        """Remove what nobody needs any more: at once, or, where the disk is too full even for that, later."""
        try:
            if path.exists():
                subvolumes.delete(path)
        except BackendError:
            self._discarded.add(path)

    def _refuse_to_lose(self, share: ShareRef, used: subvolumes.Usage, new_size: int) -> None:
        if used.referenced > new_size * GIB:
            gib = used.referenced / GIB
            raise WouldLoseData(f"share {share.id} cannot shrink to {new_size} GiB: {gib:.2f} GiB are used")

    def _take(self, location: str, target: Path, *, read_only: bool) -> None:
        """Move the subvolume that `location` means to `target`, unless it has been."""
        if target.exists():
            return
        source = self._foreign(location)
        if subvolumes.is_read_only(source) != read_only:
            raise BackendError(
                f"{location} is {'writable' if read_only else 'read only'}: it cannot be managed as such"
            )
        subvolumes.move(source, target)

    def _foreign(self, location: str) -> Path:
        """The subvolume that nobody manages and `location` means.

        :raises BackendError: there is none
        """
        place = re.sub(r"^[^/\\]*:|^\\\\[^\\]*\\", "", location).replace("\\", "/")
        if place.startswith(f"{self._directory}/"):
            place = place[len(str(self._directory)) :]
        place = place.strip("/")
        for path in (self._unmanaged / place, self._directory / place):
            if not place or not path.resolve().is_relative_to(self._directory.resolve()):
                break
            if path.parts[: len(self._shares.parts)] in (self._shares.parts, self._snapshots.parts):
                raise BackendError(f"{location} is managed already")
            if subvolumes.is_subvolume(path):
                return path
        if any(_export_id(place) == path.name for path in (*self._shares.iterdir(), *self._snapshots.iterdir())):
            raise BackendError(f"{location} is managed already")
        raise BackendError(f"{location} is not a subvolume below {self._directory}: only such can be managed")

    def _leave(self, path: Path, name: str) -> None:
        with os_errors(f"unmanaging {path.name}", self._name):
            if path.exists():
                target = self._unmanaged / name
                subvolumes.move(path, target if not target.exists() else target.with_name(f"{name}-{path.name}"))

    # Exports

    def _exporter(self, protocol: str) -> Exporter:
        try:
            return self._exporters[protocol]
        except KeyError:
            allowed = ", ".join(self.protocols)
            raise BackendError(f"protocol {protocol!r} is refused: {self._name} exports by {allowed}") from None

    def _export_share(self, share: ShareRef) -> Sequence[Location]:
        return self._export(share.id, self._share_path(share), share.proto, _export_name(share))

    def _export(
        self, id: str, source: Path, protocol: str, name: str, *, read_only: bool = False
    ) -> Sequence[Location]:
        exporter = self._exporter(protocol)
        with os_errors(f"exporting {name}", self._name):
            barrier = self._mounts.barrier() if protocol == "CIFS" else None
            if barrier:
                raise BackendError(f"Samba's users cannot pass {barrier}: chmod o+x, or set mounts_directory")
            path = self._mounts.mount(id, source)
            locations = exporter.export(id, path, name, read_only=read_only)
            self._mounts.settle(id, path)
        return locations

    def _withdraw(self, id: str, protocol: str) -> None:
        """:param protocol: one that is not exported (any more) too, or "" when it is not known"""
        exporter = self._exporters.get(protocol)
        for each in [exporter] if exporter else self._exporters.values():
            each.unexport(id)
        with os_errors(f"unmounting {id}", self._name):
            self._mounts.unmount(id)


def _building(path: Path) -> Path:
    return path.with_name(path.name + _BUILDING)


def _export_name(share: ShareRef) -> str:
    return share.mount_point_name or f"share-{share.id}"


def _export_id(name: str) -> str:
    return name.partition("-")[2]


def _place(snapshot: SnapshotRef) -> str:
    return f"snapshot-{snapshot.id}"


def _ids(directory: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The names in a directory that are ids, and all others."""
    ids, strange = set(), set()
    for path in directory.iterdir():
        try:
            ids.add(checked_uuid(path.name))
        except BackendError:
            strange.add(f"{directory.name}/{path.name}")
    return frozenset(ids), frozenset(strange)
