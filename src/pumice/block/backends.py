"""A backend in a volume worker: its driver, what it reports, and the exports it keeps alive."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy.orm import Session

from pumice.block.attachments.exports import wanted_exports
from pumice.block.compute import Compute
from pumice.block.drivers.base import Driver, Export, SnapshotRef, VolumePoolStats, VolumeRef, features
from pumice.block.snapshots.model import Snapshot
from pumice.block.volumes.model import Volume
from pumice.kernel.bus import Bus
from pumice.kernel.db.engine import Database
from pumice.kernel.db.scope import everything
from pumice.kernel.drivers import BackendError, NoSpace, ObjectMissing
from pumice.kernel.locks import Locks, LockTimeout
from pumice.kernel.messages import Detail
from pumice.kernel.moves import Superseded
from pumice.kernel.operations.kinds import Failure, Next, Outcome, Step
from pumice.kernel.operations.worker import Run
from pumice.kernel.scheduling import pool

LOG = logging.getLogger(__name__)

POOLS = "pools"
"""Topic on the bus: {"hosts": […]}, the pools that a backend has just reported."""
SAMPLES_WANTED = "pools.wanted"
"""Topic on the bus: a scheduler would like to see newer samples than it has."""
PATIENCE = 1.0
"""Seconds that an operation waits for the lock of its volume's exports before another one has its thread."""
START_PATIENCE = 10.0
STOP_PATIENCE = 10.0
"""Seconds that the start and the stop of a service wait for what a backend is doing."""
SAMPLES = 5
"""How often statistics are taken again because something was built meanwhile."""


def queue_of(backend: str) -> str:
    """The queue of operations of `host@backend`."""
    return f"volume:{backend}"


class Backend:
    """:param name: "host@section", or "cluster@section" for the members of a cluster
    :param backend_name: what types ask for (`volume_backend_name`)
    """

    def __init__(
        self, name: str, backend_name: str, driver: Driver, *, db: Database, bus: Bus, locks: Locks, compute: Compute
    ) -> None:
        self.name = name
        self.backend_name = backend_name
        self.features = features(driver)
        self.compute = compute
        self._driver = driver
        self._db = db
        self._bus = bus
        self._locks = locks
        self._trouble: str | None = "it has not been started"
        self._stopping = False
        self._wake = threading.Event()
        self._tended = threading.Event()
        self._thread: threading.Thread | None = None
        self._silence: Callable[[], None] = lambda: None

    @property
    def driver(self) -> Driver:
        """:raises Failure: the driver has not started up"""
        if self._trouble is not None:
            raise Failure(f"backend {self.name} cannot be used: {self._trouble}", detail=Detail.DRIVER_NOT_STARTED)
        return self._driver

    def state(self) -> str:
        """ "up" or "down", as services show it."""
        return "up" if self._trouble is None else "down"

    def exclusive(self, volume_id: str, patience: float) -> AbstractContextManager[None]:
        """Alone with a volume's exports, among all workers.

        :raises LockTimeout: after `patience` seconds somebody else is still at work on them
        """
        return self._locks.hold(f"exports-{volume_id}", timeout=patience)

    def start(self, interval: float) -> None:
        """Start the driver, report, make the exports again; then go on doing so every `interval` seconds.

        All in a thread of its own, so that a slow backend keeps nobody else from starting; its first report is
        waited for, for a while.
        """
        self._wake.set()
        self._thread = threading.Thread(target=self._loop, args=(interval,), name=f"backend-{self.name}", daemon=True)
        self._thread.start()
        self._silence = self._bus.subscribe(SAMPLES_WANTED, lambda _: self._wake.set())
        if not self._tended.wait(START_PATIENCE):
            LOG.warning("backend %s takes long to start", self.name)

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()
        self._silence()
        if self._thread is not None:
            self._thread.join(STOP_PATIENCE)
        if self._trouble is None:
            self._driver.stop()

    def _loop(self, interval: float) -> None:
        while not self._stopping:
            self._wake.wait(interval)
            self._wake.clear()
            if not self._stopping:
                self.tend()

    def tend(self) -> None:
        """One round: start what has not started, report the pools, keep exports alive."""
        try:
            held: Collection[str] = frozenset()
            if self._trouble is not None:
                self._driver.start()
                self._trouble = None
                LOG.info("backend %s is ready", self.name)
            else:
                held = self._driver.inventory().exports
            self.report()
            self._tended.set()
            self.restore_exports(held)
        except Exception as error:
            # A backend in trouble must not end its worker: it is tried again, and shown as down meanwhile.
            if self._trouble != str(error):
                LOG.exception("backend %s is in trouble", self.name)
            if self._trouble is not None:
                self._trouble = str(error)
        finally:
            self._tended.set()

    def restore_exports(self, held: Collection[str]) -> None:
        """Make again what the rows say is exported and the server has not; it has those in `held`."""
        with self._db.read() as tx:
            exports = [export for export in wanted_exports(tx, self.name) if export.id not in held]
        for export in exports:
            if self._stopping:
                return
            try:
                with self.exclusive(export.volume.id, 0.0):
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

    def report(self) -> None:
        """Take samples of the pools and store them, each with what was surely in it."""
        for _ in range(SAMPLES):
            with self._db.read() as tx:
                settled = pool.settled_now(tx, self.name)
            samples = [self._sample(stats) for stats in self._driver.pools()]
            stale = self._db.write(self._store(samples, settled))
            if not stale:
                break
        self._bus.publish(POOLS, {"hosts": [f"{self.name}#{sample.name}" for sample in samples]})

    def _store(self, samples: Sequence[pool.PoolSample], settled: dict[str, int]) -> Callable[[Session], list[str]]:
        return lambda tx: pool.report(tx, self.name, samples, settled)

    def _sample(self, stats: VolumePoolStats) -> pool.PoolSample:
        capabilities: dict[str, Any] = {
            "volume_backend_name": self.backend_name,
            "vendor_name": self._driver.vendor,
            "driver_version": self._driver.version,
            "storage_protocol": self._driver.protocol,
            "thick_provisioning_support": not stats.thin,
            "multiattach": stats.multiattach,
            "online_extend_support": stats.online_extend,
            "QoS_support": False,
            "replication_enabled": False,
            "backend_state": self.state(),
            "filter_function": stats.filter_function,
            "goodness_function": stats.goodness_function,
            "location_info": None,
            "features": sorted(self.features),
            **stats.extra,
        }
        return pool.PoolSample(
            name=stats.name,
            total_gb=stats.total_gb,
            free_gb=stats.free_gb,
            provisioned_gb=stats.provisioned_gb,
            thin=stats.thin,
            reserved_percentage=stats.reserved_percentage,
            max_over_subscription_ratio=stats.max_over_subscription_ratio,
            capabilities=capabilities,
        )


def volume_ref(volume: Volume) -> VolumeRef:
    return VolumeRef(id=volume.id, size=volume.size, pool=volume.pool)


def snapshot_ref(snapshot: Snapshot, volume: Volume) -> SnapshotRef:
    return SnapshotRef(id=snapshot.id, volume=volume_ref(volume), size=snapshot.size)


def driver_of(run: Run) -> Driver:
    """The driver that a step works with, asked for right before each storage call.

    :raises LeaseLost: the operation is not ours any more
    :raises Failure: the backend is not ready
    """
    run.check()
    backend: Backend = run.environment
    return backend.driver


def alone(step: Step) -> Step:
    """The step, run while nobody else changes the exports of its volume: `args["volume_id"]`, or the resource.

    A worker's thread does not wait for long: it leaves the operation for later.
    """

    def run_alone(run: Run) -> Outcome:
        backend: Backend = run.environment
        try:
            with backend.exclusive(run.args.get("volume_id", run.operation.resource_id), PATIENCE):
                return step(run)
        except LockTimeout:
            return Next(run.operation.step, delay=1.0)

    return run_alone


def compute_of(run: Run) -> Compute:
    backend: Backend = run.environment
    return backend.compute


def volume_of(run: Run, id: str | None = None) -> Volume:
    """The volume that a step works on, read anew.

    :raises Superseded: it is gone
    """
    with run.db.read() as tx:
        volume = everything().find(tx, Volume, id or run.operation.resource_id)
    if volume is None:
        raise Superseded(f"volume {id or run.operation.resource_id} is gone")
    return volume


def refused(error: BackendError, detail: Detail) -> Failure:
    """The failure that a driver's refusal means."""
    match error:
        case NoSpace():
            return Failure(f"no space: {error}", detail=Detail.NO_BACKEND)
        case ObjectMissing():
            return Failure(f"missing on the backend: {error}", detail=detail)
        case _:
            return Failure(str(error), detail=detail)
