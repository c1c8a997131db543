"""What a service counts and measures, for Prometheus.

Each service has a registry of its own. Queue depths and dropped doorbells are read when somebody scrapes.

Where several processes answer at one address, each counts in files of its own, in a directory of all, and whoever is
scraped adds them up (prometheus_client's "multiprocess mode").
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, make_wsgi_app, values
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

LOG = logging.getLogger(__name__)

REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)
OPERATION_SECONDS = (0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400)

SHARED = "PROMETHEUS_MULTIPROC_DIR"
_PREFIX = "pumice-metrics-"
_YOUNG_SECONDS = 60.0
"""An age at which a directory without a lock may still be about to be locked by its maker."""


@contextmanager
def shared(place: Path) -> Iterator[None]:
    """Have metrics that are made within add up over this process and those that it forks.

    :param place: where the directory of their files is made, and those removed that dead processes have left
    """
    for left in place.glob(f"{_PREFIX}*"):
        _remove_if_dead(left)
    parent, directory = os.getpid(), tempfile.mkdtemp(prefix=_PREFIX, dir=place)
    owned = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    fcntl.flock(owned, fcntl.LOCK_SH)
    os.environ[SHARED] = directory
    values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if os.getpid() == parent:  # those that it has forked end here, too
            shutil.rmtree(directory, ignore_errors=True)


def _remove_if_dead(directory: Path) -> None:
    with suppress(OSError):  # somebody else's, or removed by another who starts
        file = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if time.time() - os.fstat(file).st_mtime > _YOUNG_SECONDS:
                shutil.rmtree(directory)
        finally:
            os.close(file)


class Metrics:
    """Names begin with `pumice_`; every series says in its label `service` whose it is."""

    def __init__(self, service: str) -> None:
        self.registry = CollectorRegistry()
        self._reads: list[_Read] = []
        self._service = service
        self._requests = Histogram(
            "pumice_request_seconds",
            "Time to answer a request, by the route's path pattern",
            ("service", "method", "route", "status"),
            buckets=REQUEST_SECONDS,
            registry=self.registry,
        )
        self._operations = Histogram(
            "pumice_operation_seconds",
            "Time from accepting an operation to its end, by how it ended",
            ("service", "kind", "outcome"),
            buckets=OPERATION_SECONDS,
            registry=self.registry,
        )
        self._running = Gauge(
            "pumice_operations_running",
            "Operations that this process is carrying out",
            ("service", "kind"),
            registry=self.registry,
        )
        self._sweeps = Counter(
            "pumice_sweeps", "Looks for operations that nobody was called for", ("service",), registry=self.registry
        )
        self._swept = Counter(
            "pumice_swept_operations", "Operations that a sweep found", ("service",), registry=self.registry
        )

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """:param route: the pattern ("/volumes/{id}"), never the path: paths are without number"""
        self._requests.labels(self._service, method, route, status).observe(seconds)

    def operation(self, kind: str, outcome: str, seconds: float) -> None:
        """:param outcome: the state it ended in: succeeded, failed, cancelled"""
        self._operations.labels(self._service, kind, outcome).observe(seconds)

    def running(self, kind: str) -> Gauge:
        """How many operations of `kind` run here: `with metrics.running(kind).track_inprogress(): …`"""
        return self._running.labels(self._service, kind)

    def sweep(self, found: int) -> None:
        self._sweeps.labels(self._service).inc()
        self._swept.labels(self._service).inc(found)

    def watch_queues(self, depths: Callable[[], Mapping[str, int]]) -> None:
        """:param depths: gives the number of queued operations by queue; called once a scrape"""
        text = "Operations that wait in a queue"

        def collect() -> Metric:
            family = GaugeMetricFamily("pumice_queue_depth", text, labels=("service", "queue"))
            for queue, depth in depths().items():
                family.add_metric((self._service, queue), depth)
            return family

        self._watch(collect)

    def watch_drops(self, dropped: Callable[[], int]) -> None:
        """:param dropped: gives how many messages the bus has thrown away (`Bus.dropped`)"""
        text = "Doorbells and fanout messages that were thrown away; sweeps find the work"

        def collect() -> Metric:
            family = CounterMetricFamily("pumice_bus_dropped", text, labels=("service",))
            family.add_metric((self._service,), dropped())
            return family

        self._watch(collect)

    def _watch(self, collect: Callable[[], Metric]) -> None:
        self._reads.append(_Read(collect))
        self.registry.register(self._reads[-1])

    def wsgi(self) -> Callable[[dict[str, Any], Any], Iterable[bytes]]:
        """The WSGI application that answers at /metrics."""
        registry = self.registry
        if SHARED in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
            for read in self._reads:
                registry.register(read)
        app: Callable[[dict[str, Any], Any], Iterable[bytes]] = make_wsgi_app(registry)
        return app


class _Read(Collector):
    """One metric that is read when somebody scrapes. While its source fails (a database outage) it is left out."""

    def __init__(self, read: Callable[[], Metric]) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        try:
            yield self._read()
        except Exception:
            LOG.exception("a metric cannot be read")

    def describe(self) -> Iterable[Metric]:
        """Nothing, so that registering it reads nothing."""
        return ()
