"""A backend that only keeps account of what it was asked for, with faults dialled per call."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from oslo_config import cfg

from pumice.block.drivers.base import Export, Inventory, SnapshotRef, VolumePoolStats, VolumeRef
from pumice.block.drivers.options import COMMON, declared
from pumice.kernel import simulation

OPTIONS = [
    *COMMON,
    *simulation.OPTIONS,
    cfg.BoolOpt(
        "simulated_extended_by_compute",
        default=False,
        help="Attached volumes are extended by the compute service, which reports the end (3.71).",
    ),
]


class Holding(simulation.Holding):
    """What a volume or snapshot was made of, or an export's volume and connection."""

    origin: str | None = None
    connection: dict[str, Any] | None = None


class SimulatedDriver(simulation.Simulation[Holding]):
    """The `simulated` backend. One pool has the backend's name, several are `<name>-00000` and so on."""

    vendor = "Pumice"
    version = "1.0"
    protocol = "iSCSI"
    options: Sequence[cfg.Opt] = OPTIONS

    def __init__(self, section: cfg.ConfigOpts.GroupAttr, *, name: str, state_dir: Path) -> None:
        super().__init__(section, Holding, pool=section.volume_backend_name or name, state_dir=state_dir)
        self._volumes, self._snapshots, self._exports = map(self._shelf, ("volume", "snapshot", "export"))

    def pools(self) -> Sequence[VolumePoolStats]:
        return [VolumePoolStats(**sample, **declared(self._section)) for sample in self._samples()]

    def inventory(self) -> Inventory:
        return Inventory(self._volumes.ids(), self._snapshots.ids(), self._exports.ids())

    def exports(self) -> Mapping[str, str]:
        return {id: held.origin or "" for id in self._exports.ids() if (held := self._exports.get(id))}

    def create_volume(self, volume: VolumeRef) -> None:
        with self._call("create_volume", volume.id):
            self._make_volume(volume, None)

    def delete_volume(self, volume: VolumeRef) -> None:
        with self._call("delete_volume", volume.id), self._lock:
            self._drop(self._volumes, volume.id)

    def extend_volume(self, volume: VolumeRef, new_size: int) -> None:
        with self._call("extend_volume", volume.id), self._lock:
            held = self._volumes.need(volume.id)
            growth = new_size - held.size
            if growth > 0:
                self._charge(held.pool, growth)
                self._volumes.put(volume.id, msgspec.structs.replace(held, size=new_size))

    def extended_by_compute(self, volume: VolumeRef) -> bool:  # noqa: ARG002
        extends: bool = self._section.simulated_extended_by_compute
        return extends

    def connect(self, export: Export) -> Mapping[str, Any]:
        with self._call("connect", export.id, export.volume.id), self._lock:
            self._volumes.need(export.volume.id)
            held = self._exports.get(export.id)
            connection = export.connection or (held and held.connection) or _connection(export)
            self._exports.put(export.id, Holding(connection=dict(connection), origin=export.volume.id))
        return connection

    def disconnect(self, export: Export) -> None:
        with self._call("disconnect", export.id, export.volume.id):
            self._exports.pop(export.id)

    def create_snapshot(self, snapshot: SnapshotRef) -> None:
        with self._call("create_snapshot", snapshot.id), self._lock:
            held = self._volumes.need(snapshot.volume.id)
            if not self._snapshots.get(snapshot.id):
                self._snapshots.put(snapshot.id, Holding(0, held.pool, snapshot.volume.id))

    def delete_snapshot(self, snapshot: SnapshotRef) -> None:
        with self._call("delete_snapshot", snapshot.id), self._lock:
            self._drop(self._snapshots, snapshot.id)

    def create_volume_from_snapshot(self, volume: VolumeRef, snapshot: SnapshotRef) -> None:
        with self._call("create_volume_from_snapshot", volume.id):
            self._snapshots.need(snapshot.id)
            self._make_volume(volume, snapshot.id)

    def clone_volume(self, volume: VolumeRef, source: VolumeRef) -> None:
        with self._call("clone_volume", volume.id):
            self._volumes.need(source.id)
            self._make_volume(volume, source.id)

    def revert_to_snapshot(self, volume: VolumeRef, snapshot: SnapshotRef) -> None:
        with self._call("revert_to_snapshot", volume.id), self._lock:
            self._snapshots.need(snapshot.id)
            self._volumes.put(volume.id, msgspec.structs.replace(self._volumes.need(volume.id), origin=snapshot.id))

    def _make_volume(self, volume: VolumeRef, origin: str | None) -> None:
        with self._lock:
            if not self._volumes.get(volume.id):
                pool = volume.pool or self._pools[0]
                self._charge(pool, volume.size)
                self._volumes.put(volume.id, Holding(volume.size, pool, origin))


def _connection(export: Export) -> dict[str, Any]:
    data = {
        "target_discovered": False,
        "target_portal": "127.0.0.1:3260",
        "target_iqn": f"iqn.2026-11.org.pumice.simulated:volume-{export.volume.id}.{export.id}",
        "target_lun": 1,
        "volume_id": export.volume.id,
        "auth_method": "CHAP",
        "auth_username": uuid.uuid4().hex,
        "auth_password": uuid.uuid4().hex,
    }
    return {"driver_volume_type": "iscsi", "data": data}
