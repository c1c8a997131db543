"""A backend of shares that only keeps account of what it was asked for, with faults dialled per call.

A dial on the call "access_rule" gives single rules their error, `match` being the beginning of what the rule lets in:
`driver.dial("access_rule", match="10.0.0.9", fail="no such client")`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath

import msgspec
from oslo_config import cfg

from pumice.kernel import simulation
from pumice.kernel.drivers import BackendError, PoolStats
from pumice.share.drivers.base import (
    Applied,
    Inventory,
    Path,
    Rule,
    ShareRef,
    SnapshotRef,
    WouldLoseData,
)
from pumice.share.drivers.options import COMMON, declared

OPTIONS = [
    *COMMON,
    *simulation.OPTIONS,
    cfg.ListOpt("simulated_protocols", default=["NFS", "CIFS"], help="The protocols that shares are exported by."),
    cfg.HostAddressOpt("simulated_address", default="127.0.0.1", help="The address in export locations."),
]

KNOWN: Mapping[str, frozenset[str]] = {
    "NFS": frozenset({"ip"}),
    "CIFS": frozenset({"ip", "user"}),
    "GLUSTERFS": frozenset({"ip", "cert"}),
    "HDFS": frozenset({"ip", "user"}),
    "CEPHFS": frozenset({"cephx"}),
    "MAPRFS": frozenset({"ip", "user"}),
}
"""The types of rules that can be enforced, by protocol."""


class Holding(simulation.Holding):
    """A share or a snapshot of one, or the export of either.

    :param name: the last part of its path
    :param origin: the share of a snapshot; the snapshot that a share was made of or has been set back to
    :param data: GiB that are used in a share, or that a snapshot's share was large
    :param rules: "ip 10.0.0.1 rw" of an export; `keys` are those that were made for cephx users
    """

    name: str = ""
    proto: str = ""
    origin: str | None = None
    data: int = 0
    rules: list[str] = msgspec.field(default_factory=list)
    keys: dict[str, str] = msgspec.field(default_factory=dict)


Shelf = simulation.Shelf[Holding]


class SimulatedShareDriver(simulation.Simulation[Holding]):
    """The `simulated` backend of shares."""

    vendor = "Pumice"
    version = "1.0"
    options: Sequence[cfg.Opt] = OPTIONS

    def __init__(self, section: cfg.ConfigOpts.GroupAttr, *, name: str, state_dir: FilePath) -> None:
        super().__init__(section, Holding, pool=section.share_backend_name or name, state_dir=state_dir)
        self.protocols: Sequence[str] = section.simulated_protocols
        self._shares, self._snapshots, self._exports = map(self._shelf, ("share", "snapshot", "export"))
        # What is on the backend and not managed, by what it was called.
        self._foreign_shares, self._foreign_snapshots = map(self._shelf, ("foreign-share", "foreign-snapshot"))

    # Behind everybody's back

    def fill(self, id: str, gib: int) -> None:
        """Let clients of a share have written so much."""
        with self._lock:
            self._shares.put(id, msgspec.structs.replace(self._shares.need(id), data=gib))

    def forget_export(self, id: str) -> None:
        """Lose the export of a share or snapshot, as a file server does that comes up empty."""
        self._exports.pop(id)

    def put_foreign_share(self, name: str, size: int, proto: str = "NFS") -> str:
        """Put a share on the backend that nobody manages; the path to manage it by."""
        with self._lock:
            held = Holding(size, self._pools[0], name=name, proto=proto)
            self._charge(held.pool, size)
            self._foreign_shares.put(name, held)
            return self._paths(held)[0].path

    # The contract

    def pools(self) -> Sequence[PoolStats]:
        return [PoolStats(**sample, **declared(self._section)) for sample in self._samples()]

    def inventory(self) -> Inventory:
        exports = {id: frozenset(held.rules) for id in self._exports.ids() if (held := self._exports.get(id))}
        return Inventory(self._shares.ids(), self._snapshots.ids(), exports)

    def exports(self) -> frozenset[str]:
        return self._exports.ids()

    def create_share(self, share: ShareRef) -> Sequence[Path]:
        with self._call("create_share", share.id, share.share_id), self._lock:
            return self._make_share(share, None)

    def delete_share(self, share: ShareRef) -> None:
        with self._call("delete_share", share.id, share.share_id), self._lock:
            self._exports.pop(share.id)
            self._drop(self._shares, share.id)

    def extend_share(self, share: ShareRef, new_size: int) -> None:
        with self._call("extend_share", share.id, share.share_id), self._lock:
            held = self._shares.need(share.id)
            if new_size > held.size:
                self._charge(held.pool, new_size - held.size)
                self._shares.put(share.id, msgspec.structs.replace(held, size=new_size))

    def shrink_share(self, share: ShareRef, new_size: int) -> None:
        with self._call("shrink_share", share.id, share.share_id), self._lock:
            held = self._shares.need(share.id)
            if held.data > new_size:
                raise WouldLoseData(f"share {share.id} cannot shrink to {new_size} GiB: {held.data} GiB are used")
            if new_size < held.size:
                self._charge(held.pool, new_size - held.size)
                self._shares.put(share.id, msgspec.structs.replace(held, size=new_size))

    def ensure_share(self, share: ShareRef) -> Sequence[Path]:
        with self._call("ensure_share", share.id, share.share_id), self._lock:
            return self._export(share.id, self._shares.need(share.id))

    def apply_access(self, share: ShareRef, rules: Sequence[Rule]) -> Mapping[str, Applied]:
        with self._call("apply_access", share.id, share.share_id), self._lock:
            self._shares.need(share.id)
            return self._apply(share.id, share.proto, rules)

    def create_snapshot(self, snapshot: SnapshotRef) -> str:
        with self._call("create_snapshot", snapshot.id), self._lock:
            share = self._shares.need(snapshot.share.id)
            held = self._snapshots.get(snapshot.id)
            if not held:
                held = Holding(0, share.pool, f"snapshot-{snapshot.id}", share.proto, snapshot.share.id, share.size)
                self._snapshots.put(snapshot.id, held)
            return held.name

    def delete_snapshot(self, snapshot: SnapshotRef) -> None:
        with self._call("delete_snapshot", snapshot.id), self._lock:
            self._exports.pop(snapshot.id)
            self._drop(self._snapshots, snapshot.id)

    def create_share_from_snapshot(self, share: ShareRef, snapshot: SnapshotRef) -> Sequence[Path]:
        with self._call("create_share_from_snapshot", share.id, share.share_id), self._lock:
            self._snapshots.need(snapshot.id)
            return self._make_share(share, snapshot.id)

    def revert_to_snapshot(self, share: ShareRef, snapshot: SnapshotRef) -> None:
        with self._call("revert_to_snapshot", share.id, share.share_id), self._lock:
            self._snapshots.need(snapshot.id)
            self._shares.put(share.id, msgspec.structs.replace(self._shares.need(share.id), origin=snapshot.id))

    def export_snapshot(self, snapshot: SnapshotRef) -> Sequence[Path]:
        with self._call("export_snapshot", snapshot.id), self._lock:
            return self._export(snapshot.id, self._snapshots.need(snapshot.id))

    def apply_snapshot_access(self, snapshot: SnapshotRef, rules: Sequence[Rule]) -> Mapping[str, Applied]:
        with self._call("apply_snapshot_access", snapshot.id), self._lock:
            self._snapshots.need(snapshot.id)
            read_only = [Rule(rule.id, rule.type, rule.to, "ro") for rule in rules]
            return self._apply(snapshot.id, snapshot.share.proto, read_only)

    def manage_share(self, share: ShareRef, path: str, options: Mapping[str, str]) -> tuple[int, Sequence[Path]]:  # noqa: ARG002
        with self._call("manage_share", share.id, share.share_id), self._lock:
            name = re.split(r"[/\\]", path)[-1]
            held = self._shares.get(share.id)
            if not held or held.name != name:
                held = self._take(self._foreign_shares, self._shares, share, name)
            return held.size, self._export(share.id, held)

    def unmanage_share(self, share: ShareRef) -> None:
        with self._call("unmanage_share", share.id, share.share_id), self._lock:
            self._exports.pop(share.id)
            self._leave(self._shares, self._foreign_shares, share.id)

    def manage_snapshot(self, snapshot: SnapshotRef, location: str, options: Mapping[str, str]) -> int:  # noqa: ARG002
        with self._call("manage_snapshot", snapshot.id), self._lock:
            held = self._snapshots.get(snapshot.id)
            if not held or held.name != location:
                held = self._take(self._foreign_snapshots, self._snapshots, snapshot, location)
            return held.data

    def unmanage_snapshot(self, snapshot: SnapshotRef) -> None:
        with self._call("unmanage_snapshot", snapshot.id), self._lock:
            self._exports.pop(snapshot.id)
            self._leave(self._snapshots, self._foreign_snapshots, snapshot.id)

    # The account

    def _make_share(self, share: ShareRef, origin: str | None) -> Sequence[Path]:
        held = self._shares.get(share.id)
        if not held:
            if share.proto not in self.protocols:
                allowed = ", ".join(self.protocols)
                raise BackendError(f"protocol {share.proto!r} is refused: {allowed} are exported here")
            name = share.mount_point_name or f"share-{share.id}"
            held = Holding(share.size, share.pool or self._pools[0], name, share.proto, origin)
            self._charge(held.pool, held.size)
            self._shares.put(share.id, held)
        return self._export(share.id, held)

    def _export(self, id: str, held: Holding) -> Sequence[Path]:
        if not self._exports.get(id):
            self._exports.put(id, Holding())
        return self._paths(held)

    def _paths(self, held: Holding) -> Sequence[Path]:
        address = self._section.simulated_address
        paths = [f"{address}:/{held.name}", f"{address}:/admin/{held.name}"]
        if held.proto == "CIFS":
            paths = ["\\\\" + path.replace(":", "").replace("/", "\\") for path in paths]
        return [Path(paths[0], preferred=True), Path(paths[1], is_admin_only=True)]

    def _apply(self, id: str, proto: str, rules: Sequence[Rule]) -> Mapping[str, Applied]:
        export = self._exports.need(id)
        applied: dict[str, Applied] = {}
        held: list[str] = []
        keys: dict[str, str] = {}
        for rule in rules:
            if rule.type not in KNOWN.get(proto, frozenset()):
                applied[rule.id] = Applied(f"rules of type {rule.type} are not enforced for {proto}")
                continue
            dial = self._dial_for(("access_rule",), (rule.to,))
            if dial.fail is not None:
                applied[rule.id] = Applied(dial.fail)
                continue
            held.append(f"{rule.type} {rule.to} {rule.level}")
            if rule.type == "cephx":
                keys[rule.to] = export.keys.get(rule.to) or uuid.uuid4().hex
            applied[rule.id] = Applied(key=keys.get(rule.to))
        self._exports.put(id, Holding(rules=held, keys=keys))
        return applied

    def _take(self, source: Shelf, target: Shelf, wanted: ShareRef | SnapshotRef, name: str) -> Holding:
        """Move what nobody manages under `name` to those that are managed."""
        proto = wanted.proto if isinstance(wanted, ShareRef) else wanted.share.proto
        for key in source.ids():
            held = source.get(key)
            if held and held.name == name:
                if held.proto != proto:
                    raise BackendError(f"{name} is exported by {held.proto}, not by {proto}")
                target.put(wanted.id, held)
                source.pop(key)
                return held
        if any(held.name == name for other in target.ids() if (held := target.get(other))):
            raise BackendError(f"{name} is managed already")
        raise BackendError(f"{name} is not on the simulated backend")

    def _leave(self, source: Shelf, target: Shelf, id: str) -> None:
        held = source.get(id)
        if held:
            target.put(id, held)
            source.pop(id)
