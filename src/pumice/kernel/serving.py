"""A service with backends: its scheduler and the workers of its backends, in whatever processes."""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

from oslo_config import cfg

from pumice.kernel import config
from pumice.kernel.backends import POOLS, Backend, queue_of
from pumice.kernel.heart import Heart
from pumice.kernel.locks import Locks
from pumice.kernel.messages import Code
from pumice.kernel.operations.kinds import Kind
from pumice.kernel.operations.model import Lane
from pumice.kernel.operations.worker import Worker
from pumice.kernel.quotas import Quotas
from pumice.kernel.scheduling.placing import SCHEDULER, Placer
from pumice.kernel.scheduling.plugins import Lookups, load_filters, load_weighers
from pumice.kernel.scheduling.scheduler import Scheduler
from pumice.kernel.scheduling.view import PoolView, backend_states
from pumice.kernel.scheduling.weighers import CHOICES
from pumice.kernel.service import Service
from pumice.kernel.services import Identity

LOG = logging.getLogger(__name__)


class BackendService(Service):
    """:cvar scheduler_binary, worker_binary: the names by which clients and operators' tools know the workers
    :cvar refusal, refusals, placing: the user's message when no pool will do (`kernel.scheduling.placing.Placer`)
    """

    scheduler_binary: ClassVar[str]
    worker_binary: ClassVar[str]
    refusal: ClassVar[Code]
    refusals: ClassVar[Mapping[str, Code]] = MappingProxyType({})
    placing: ClassVar[Code | None] = None

    def __init__(self, name: str, conf: cfg.ConfigOpts, kinds: Iterable[Kind], quotas: Quotas) -> None:
        super().__init__(name, conf, kinds, quotas)
        self.locks = Locks(conf)
        self.backends: list[Backend[Any]] = []
        self._workers: list[Worker] = []
        self._hearts: list[Heart] = []
        self._endings: list[Callable[[], None]] = []

    @abstractmethod
    def prepare(self) -> None:
        """Write the rows that the service needs to be there."""

    @abstractmethod
    def lookups(self) -> Lookups:
        """What filters and weighers may ask."""

    @abstractmethod
    def backend(self, name: str, described: config.Backend, driver: Any) -> Backend[Any]:
        """A backend of this service, `name` being its host@section or cluster@section."""

    def connect(self, parts: Collection[str]) -> None:
        """What `start` needs others for; may be tried again and again.

        :raises DBConnectionError: the database cannot be reached
        :raises LockServiceAway: the lock service cannot be reached
        """
        self.prepare()
        if self.part in parts:
            self.locks.start()

    def start(self, parts: Collection[str] | None = None) -> None:
        """Start workers in this process: the scheduler ("scheduler") and those of backends (`part`), or both."""
        parts = {SCHEDULER, self.part} if parts is None else parts
        self.connect(parts)
        super().start()
        if self.part in parts:
            self._endings.append(self.locks.stop)
            for described in config.backends(self.conf, self.name):
                self._start_backend(described)
            for backend, number in self.unserved().items():
                LOG.warning(
                    "%s resources lie on %s, which is not among the backends that are enabled here: nothing can be "
                    "done with them until it is",
                    number,
                    backend,
                )
        if SCHEDULER in parts:
            self._start_scheduler()

    def stop(self, grace: float = 10.0) -> None:
        """:param grace: seconds for what runs to end; what has not is handed back"""
        deadline = time.monotonic() + grace
        for worker in self._workers:
            worker.close()
        for worker in self._workers:
            worker.stop(max(0.0, deadline - time.monotonic()))
        for heart in self._hearts:
            heart.stop()
        for backend in self.backends:
            backend.stop()
        for end in self._endings:
            end()
        super().stop()

    def trouble(self) -> list[str]:
        found = super().trouble()
        silent = max((heart.silence for heart in self._hearts), default=0.0)
        if silent > self.conf.service_down_time:
            found.append(f"It has not reported for {silent:.0f} s.")
        if self.backends and all(backend.state() == "down" for backend in self.backends):
            found.append("None of its backends is up.")
        return found

    def unserved(self) -> dict[str, int]:
        """Backends of this host ("host@section") that are not enabled, with the number of resources on them."""
        served = {backend.name for backend in self.backends}
        found: Counter[str] = Counter()
        for host, number in self.lookups().resources_on().items():
            backend = host.partition("#")[0]
            if backend.partition("@")[0] == (self.conf.cluster or self.conf.host) and backend not in served:
                found[backend] += number
        return dict(sorted(found.items()))

    def restore_exports(self) -> None:
        """Make exports again that are gone, on all backends of this process."""
        for backend in self.backends:
            backend.tend()

    @cached_property
    def placer(self) -> Placer:
        """Made when it is needed first: not every process places."""
        conf, questions = self.conf, self.lookups()
        scheduler = Scheduler(
            load_filters(conf.scheduler_default_filters, questions),
            load_weighers(conf.scheduler_default_weighers, questions, conf),
            CHOICES[conf.scheduler_weight_handler],
        )
        view = PoolView(self.db, lambda tx: backend_states(tx, self.worker_binary, conf.service_down_time))
        return Placer(
            scheduler,
            view,
            binary=self.worker_binary,
            part=self.part,
            refusal=self.refusal,
            refusals=self.refusals,
            action=self.placing,
        )

    def _start_scheduler(self) -> None:
        conf, view = self.conf, self.placer.view
        self._endings.append(self.bus.subscribe(POOLS, lambda told: view.hear(told["hosts"])))
        binary = self.scheduler_binary
        self._beat(Identity(conf.host, binary, binary, conf.storage_availability_zone))
        self._work({SCHEDULER: self.placer}, all_queues=True)

    def _start_backend(self, described: config.Backend) -> None:
        conf, options = self.conf, described.section
        host = f"{options.backend_host or conf.host}@{described.name}"
        cluster = f"{conf.cluster}@{described.name}" if conf.cluster else None
        driver = described.driver(options, name=described.name, state_dir=self.state_path)
        backend = self.backend(cluster or host, described, driver)
        self.backends.append(backend)
        zone = options.backend_availability_zone or conf.storage_availability_zone
        backend.start(float(conf.report_interval))
        self._beat(Identity(host, self.worker_binary, self.worker_binary, zone, cluster), backend.state)
        self._work({queue_of(self.part, backend.name): backend})

    def _beat(self, identity: Identity, state: Callable[[], str] = lambda: "up") -> None:
        heart = Heart(self.db, identity, float(self.conf.report_interval), state)
        heart.start()
        self.loglevels.answer_as(identity.host, identity.binary, identity.cluster)
        self._hearts.append(heart)

    def _work(self, queues: dict[str, object], *, all_queues: bool = False) -> None:
        options = self.conf.operations
        worker = Worker(
            self.journal,
            queues,
            lanes={Lane.WORK: options.threads, Lane.FAST: options.reserved_threads},
            directory=self.state_path / "workers",
            metrics=self.metrics,
            host=self.conf.host,
            lease=options.lease,
            sweep=options.sweep_interval,
            all_queues=all_queues,
        )
        worker.start()
        self._workers.append(worker)
