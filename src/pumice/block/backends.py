"""A backend of volumes in its worker, and what steps ask of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from pumice.block.attachments.exports import known_exports, wanted_exports
from pumice.block.compute import Compute
from pumice.block.drivers.base import (
    OPTIONAL,
    Connector,
    Driver,
    Export,
    SnapshotRef,
    VolumePoolStats,
    VolumeRef,
)
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
refused_as = partial(steps.refused_as, full=Detail.NO_BACKEND)


class VolumeBackend(backends.Backend[Driver]):
    shown_as, optional = "volume_backend_name", OPTIONAL
    not_started = Detail.DRIVER_NOT_STARTED

    def __init__(
        self, name: str, shown: str, driver: Driver, *, db: Database, bus: Bus, locks: Locks, compute: Compute
    ) -> None:
        super().__init__(name, shown, driver, db=db, bus=bus, locks=locks)
        self.compute = compute

    def keep(self, *, first: bool) -> None:
        """Make again what the rows say is exported and the server has not, and remove what it has without a row: a
        worker that lost its operation to another host may have made it."""
        held = self._driver.exports()
        with self._db.read() as tx:
            wanted = wanted_exports(tx, self.name)
            strays = held.keys() - known_exports(tx, held)
        for export in wanted:
            if first or export.id not in held:
                self._mend(export.id, export.volume.id, self._restore)
        for id in strays:
            self._mend(id, held[id], self._remove)

    def _mend(self, id: str, volume_id: str, work: Callable[[str, str], None]) -> None:
        """Have `work` done with an export, by its id and its volume's, unless the volume is being changed."""
        if self._stopping:
            return
        try:
            with self.exclusive(exports_lock(volume_id), 0.0):
                work(id, volume_id)
        except LockTimeout:
            LOG.info("export %s is looked at in the next round: its volume is being changed", id)
        except BackendError:
            LOG.exception("export %s of volume %s could not be mended", id, volume_id)

    def _restore(self, id: str, _volume_id: str) -> None:
        with self._db.read() as tx:
            # Its removal may have begun since.
            wanted = wanted_exports(tx, self.name, id)
        for one in wanted:
            self._driver.connect(one)

    def _remove(self, id: str, volume_id: str) -> None:
        with self._db.read() as tx:
            if known_exports(tx, [id]):  # it has been asked for since
                return
        LOG.warning("export %s of volume %s belongs to no attachment: it is removed", id, volume_id)
        volume = VolumeRef(id=volume_id, size=0, pool="")
        self._driver.disconnect(Export(id=id, volume=volume, connector=Connector({})))

    def capabilities(self, stats: VolumePoolStats) -> dict[str, Any]:
        return {
            "storage_protocol": self._driver.protocol,
            "multiattach": stats.multiattach,
            "online_extend_support": stats.online_extend,
            "QoS_support": False,
            "replication_enabled": False,
            "location_info": None,
        }


def volume_ref(volume: Volume) -> VolumeRef:
    return VolumeRef(id=volume.id, size=volume.size, pool=volume.pool)


def snapshot_ref(snapshot: Snapshot, volume: Volume) -> SnapshotRef:
    return SnapshotRef(id=snapshot.id, volume=volume_ref(volume), size=snapshot.size)


def compute_of(run: Run) -> Compute:
    backend: VolumeBackend = run.environment
    return backend.compute
