"""A backend in a worker, whatever service: its driver, its state, and what it reports of its pools."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from sqlalchemy.orm import Session

from pumice.kernel.bus import Bus
from pumice.kernel.db.engine import Database
from pumice.kernel.drivers import features
from pumice.kernel.locks import Locks
from pumice.kernel.messages import Code
from pumice.kernel.operations.kinds import Failure
from pumice.kernel.scheduling import pool

LOG = logging.getLogger(__name__)

POOLS = "pools"
"""Topic on the bus: {"hosts": […]}, the pools that a backend has just reported."""
SAMPLES_WANTED = "pools.wanted"
"""Topic on the bus: a scheduler would like to see newer samples than it has."""
START_PATIENCE = 10.0
STOP_PATIENCE = 10.0
"""Seconds that the start and the stop of a service wait for what a backend is doing."""
SAMPLES = 5
"""How often statistics are taken again because something was built meanwhile."""


class AnyDriver(Protocol):
    """What the kernel asks of a driver of any service."""

    vendor: str
    version: str

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def pools(self) -> Sequence[Any]: ...


D = TypeVar("D", bound=AnyDriver)


class Backend(ABC, Generic[D]):
    """:param name: "host@section", or "cluster@section" for the members of a cluster
    :param shown: the name that types ask for
    :cvar shown_as: the capability that has this name
    :cvar optional: protocols that not every driver implements, by the names of the features that pools report
    :cvar not_started: the detail of messages about what failed because the driver has not started up
    """

    shown_as: ClassVar[str]
    optional: ClassVar[Mapping[str, type]]
    not_started: ClassVar[Code]

    def __init__(self, name: str, shown: str, driver: D, *, db: Database, bus: Bus, locks: Locks) -> None:
        self.name = name
        self._shown = shown
        self._driver = driver
        self.features = features(driver, self.optional)
        self._db = db
        self._bus = bus
        self._locks = locks
        self._trouble: str | None = "it has not been started"
        self._stopping = False
        self._wake = threading.Event()
        self._tended = threading.Event()
        self._thread: threading.Thread | None = None
        self._silence: Callable[[], None] = lambda: None

    @abstractmethod
    def keep(self, *, first: bool) -> None:
        """Make again what the rows ask of the backend and it has lost; `first`: it has just been started."""

    @abstractmethod
    def capabilities(self, stats: Any) -> dict[str, Any]:
        """The capabilities of a pool besides its capacity and what all services report."""

    @property
    def driver(self) -> D:
        """:raises Failure: the driver has not started up"""
        if self._trouble is not None:
            raise Failure(f"backend {self.name} cannot be used: {self._trouble}", detail=self.not_started)
        return self._driver

    def state(self) -> str:
        """ "up" or "down", as services show it."""
        return "up" if self._trouble is None else "down"

    def exclusive(self, name: str, patience: float) -> AbstractContextManager[None]:
        """Alone with what `name` stands for, among all workers.

        :raises LockTimeout: after `patience` seconds somebody else is still at work on it
        """
        return self._locks.hold(name, timeout=patience)

    def start(self, interval: float) -> None:
        """Start the driver, report, keep what is there; then go on doing so every `interval` seconds.

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
        """One round: start what has not started, report the pools, keep what is there."""
        first = self._trouble is not None
        try:
            if first:
                self._driver.start()
                self._trouble = None
                LOG.info("backend %s is ready", self.name)
            self.report()
            self._tended.set()
            self.keep(first=first)
        except Exception as error:
            # A backend in trouble must not end its worker: it is tried again, and shown as down meanwhile.
            if self._trouble != str(error):
                LOG.exception("backend %s is in trouble", self.name)
            if self._trouble is not None:
                self._trouble = str(error)
        finally:
            self._tended.set()

    def report(self) -> None:
        """Take samples of the pools and store them, each with what was surely in it."""
        for _ in range(SAMPLES):
            with self._db.read() as tx:
                settled = pool.settled_now(tx, self.name)
            samples = [self._sample(stats) for stats in self._driver.pools()]
            if not self._db.write(self._store(samples, settled)):
                break
        self._bus.publish(POOLS, {"hosts": [f"{self.name}#{sample.name}" for sample in samples]})

    def _store(self, samples: Sequence[pool.PoolSample], settled: dict[str, int]) -> Callable[[Session], list[str]]:
        return lambda tx: pool.report(tx, self.name, samples, settled)

    def _sample(self, stats: Any) -> pool.PoolSample:
        common = {
            self.shown_as: self._shown,
            "features": sorted(self.features),
            "vendor_name": self._driver.vendor,
            "driver_version": self._driver.version,
            "thick_provisioning_support": not stats.thin,
            "backend_state": self.state(),
            "filter_function": stats.filter_function,
            "goodness_function": stats.goodness_function,
        }
        return pool.PoolSample(
            name=stats.name,
            total_gb=stats.total_gb,
            free_gb=stats.free_gb,
            provisioned_gb=stats.provisioned_gb,
            thin=stats.thin,
            reserved_percentage=stats.reserved_percentage,
            max_over_subscription_ratio=stats.max_over_subscription_ratio,
            capabilities=common | self.capabilities(stats) | dict(stats.extra),
        )


def queue_of(part: str, backend: str) -> str:
    """The queue of operations of `host@backend`; `part` is what its service calls the workers of backends."""
    return f"{part}:{backend}"
