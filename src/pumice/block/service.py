"""The Block Storage service: its API, its scheduler, and the volume workers of its backends."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

from oslo_config import cfg

from pumice.block.admin import binaries
from pumice.block.admin.pools import backend_states
from pumice.block.backends import POOLS, Backend, queue_of
from pumice.block.compute import Compute
from pumice.block.kinds import KINDS
from pumice.block.quotas.resources import quotas_of
from pumice.block.routes import API
from pumice.block.types.lookup import ensure_default_type
from pumice.block.volumes.operations import SCHEDULER
from pumice.block.volumes.placement import Placer, lookups
from pumice.kernel import config
from pumice.kernel.heart import Heart
from pumice.kernel.locks import Locks
from pumice.kernel.operations.model import Lane
from pumice.kernel.operations.worker import Worker
from pumice.kernel.scheduling.plugins import load_filters, load_weighers
from pumice.kernel.scheduling.scheduler import Scheduler
from pumice.kernel.scheduling.view import PoolView
from pumice.kernel.scheduling.weighers import CHOICES
from pumice.kernel.service import Service
from pumice.kernel.services import Identity

if TYPE_CHECKING:
    from collections.abc import Callable

LOG = logging.getLogger(__name__)

PARTS = frozenset({"scheduler", "volume"})


class BlockService(Service):
    """:param conf: of `pumice.kernel.config.load("block", …)`"""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__("block", conf, API, KINDS, quotas_of(conf))
        self.compute = Compute(conf)
        self.locks = Locks(conf)
        self.backends: list[Backend] = []
        self._workers: list[Worker] = []
        self._hearts: list[Heart] = []
        self._endings: list[Callable[[], None]] = []

    def start(self, parts: Collection[str] = PARTS) -> None:
        """Start workers in this process: of "scheduler" and "volume", those in `parts`."""
        super().start()
        self.db.write(ensure_default_type)
        if "volume" in parts:
            self.locks.start()
            self._endings.append(self.locks.stop)
            for described in config.backends(self.conf, "block"):
                self._start_backend(described)
        if "scheduler" in parts:
            self._start_scheduler()

    def stop(self, grace: float = 10.0) -> None:
        for worker in self._workers:
            worker.stop(grace)
        for heart in self._hearts:
            heart.stop()
        for backend in self.backends:
            backend.stop()
        for end in self._endings:
            end()
        super().stop()

    def restore_exports(self) -> None:
        """Make exports again that are gone, on all backends of this process."""
        for backend in self.backends:
            backend.tend()

    def _start_scheduler(self) -> None:
        conf = self.conf
        questions = lookups(self.db, self.compute.host_of)
        scheduler = Scheduler(
            load_filters(conf.scheduler_default_filters, questions),
            load_weighers(conf.scheduler_default_weighers, questions, conf),
            CHOICES[conf.scheduler_weight_handler],
        )
        view = PoolView(self.db, lambda tx: backend_states(tx, conf.service_down_time))
        self._endings.append(self.bus.subscribe(POOLS, lambda told: view.hear(told["hosts"])))
        self._beat(Identity(conf.host, binaries.SCHEDULER, binaries.SCHEDULER, conf.storage_availability_zone))
        placer = Placer(scheduler, view)
        self._work({SCHEDULER: placer}, all_queues=True)

    def _start_backend(self, described: config.Backend) -> None:
        conf, options = self.conf, described.section
        host = f"{options.backend_host or conf.host}@{described.name}"
        cluster = f"{conf.cluster}@{described.name}" if conf.cluster else None
        driver = described.driver(options, name=described.name, state_dir=self.state_path)
        backend = Backend(
            cluster or host,
            options.volume_backend_name or described.name,
            driver,
            db=self.db,
            bus=self.bus,
            locks=self.locks,
            compute=self.compute,
        )
        self.backends.append(backend)
        zone = options.backend_availability_zone or conf.storage_availability_zone
        backend.start(float(conf.report_interval))
        self._beat(Identity(host, binaries.VOLUME, binaries.VOLUME, zone, cluster), backend.state)
        self._work({queue_of(backend.name): backend})

    def _beat(self, identity: Identity, state: Callable[[], str] = lambda: "up") -> None:
        heart = Heart(self.db, identity, float(self.conf.report_interval), state)
        heart.start()
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
