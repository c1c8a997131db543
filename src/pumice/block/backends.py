"""A backend of volumes in its worker, and what steps ask of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from pumice.block.attachments.exports import wanted_exports
from pumice.block.compute import Compute
from pumice.block.drivers.base import Driver, Export, SnapshotRef, VolumePoolStats, VolumeRef, features
from pumice.block.message_codes import Detail
from pumice.block.snapshots.model import Snapshot
from pumice.block.volumes.model import Volume
from pumice.kernel import backends, steps
from pumice.kernel.bus import Bus
from pumice.kernel.db.engine import Database
from pumice.kernel.drivers import BackendError
from pumice.kernel.locks import Locks, LockTimeout
from pumice.kernel.operations.worker import Run

LOG = logging.getLogger(__name__)

QUEUE = "volume"
queue_of = partial(backends.queue_of, QUEUE)


def exports_lock(volume_id: str) -> str:
    """The lock of whoever changes a volume's exports."""
    return f"exports-{volume_id}"


alone = steps.alone(lambda run: exports_lock(run.args.get("volume_id", run.operation.resource_id)))
"""Of steps that change the exports of their volume: `args["volume_id"]`, or the resource."""

driver_of: Callable[[Run], Driver] = steps.driver_of
refused = partial(steps.refused, full=Detail.NO_BACKEND)


class VolumeBackend(backends.Backend[Driver]):
    """:param backend_name: what types ask for (`volume_backend_name`)"""

    not_started = Detail.DRIVER_NOT_STARTED

    def __init__(
        self, name: str, backend_name: str, driver: Driver, *, db: Database, bus: Bus, locks: Locks, compute: Compute
    ) -> None:
        super().__init__(name, driver, db=db, bus=bus, locks=locks)
        self.backend_name = backend_name
        self.features = features(driver)
        self.compute = compute

    def keep(self, *, first: bool) -> None:
        self.restore_exports(frozenset() if first else self._driver.inventory().exports)

    def restore_exports(self, held: Collection[str]) -> None:
        """Make again what the rows say is exported and the server has not; it has those in `held`."""
        with self._db.read() as tx:
            exports = [export for export in wanted_exports(tx, self.name) if export.id not in held]
        for export in exports:
            if self._stopping:
                return
            try:
                with self.exclusive(exports_lock(export.volume.id), 0.0):
                    self._restore(export)
            except LockTimeout:
                LOG.info("export %s is looked at in the next round: its volume is being changed", export.id)
            except BackendError:
                LOG.exception("export %s of volume %s could not be made again", export.id, export.volume.id)

    def _restore(self, export: Export) -> None:
        with self._db.read() as tx:
            # Its removal may have begun since.
            wanted = wanted_exports(tx, self.name, export.id)
        for one in wanted:
            self._driver.connect(one)

    def capabilities(self, stats: VolumePoolStats) -> dict[str, Any]:
        return {
            "volume_backend_name": self.backend_name,
            "storage_protocol": self._driver.protocol,
            "multiattach": stats.multiattach,
            "online_extend_support": stats.online_extend,
            "QoS_support": False,
            "replication_enabled": False,
            "location_info": None,
            "features": sorted(self.features),
        }


def volume_ref(volume: Volume) -> VolumeRef:
    return VolumeRef(id=volume.id, size=volume.size, pool=volume.pool)


def snapshot_ref(snapshot: Snapshot, volume: Volume) -> SnapshotRef:
    return SnapshotRef(id=snapshot.id, volume=volume_ref(volume), size=snapshot.size)


def compute_of(run: Run) -> Compute:
    backend: VolumeBackend = run.environment
    return backend.compute
