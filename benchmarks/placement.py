"""How long one placement takes among many pools.

    python benchmarks/placement.py [--pools 10000] [--rounds 50]

The pools are rows of an SQLite file. Printed are the time to read all of them, to read what changed, to rank
(filters and weighers, three kinds of request), and to place (rank, one claim committed to disk, its row read
again). "cpu" is this thread's time, which other work on the machine does not lengthen.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pumice.kernel.db.base import Base
from pumice.kernel.db.engine import Database
from pumice.kernel.scheduling.filters import AvailabilityZoneFilter, CapabilitiesFilter, CapacityFilter
from pumice.kernel.scheduling.plugins import Lookups
from pumice.kernel.scheduling.pool import BackendState, Pool, PoolSample, claim, report
from pumice.kernel.scheduling.request import PlacementRequest
from pumice.kernel.scheduling.scheduler import Scheduler
from pumice.kernel.scheduling.view import PoolView
from pumice.kernel.scheduling.weighers import FreeRatioWeigher

POOLS_PER_BACKEND = 10
REQUESTS = {
    "any pool": PlacementRequest(id="any", gb=1),
    "one zone, one spec": PlacementRequest(
        id="zone", gb=1, zones=frozenset({"az1"}), extra_specs={"volume_backend_name": "fast"}
    ),
    "two specs": PlacementRequest(id="specs", gb=1, extra_specs={"volume_backend_name": "fast", "iops": ">= 2000"}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pools", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=50)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        db = Database(f"sqlite:///{Path(directory, 'pools.sqlite')}")
        Base.metadata.create_all(db.engine, tables=[Pool.metadata.tables["pools"]])
        measure(db, arguments.pools, arguments.rounds)
        db.close()


def measure(db: Database, pools: int, rounds: int) -> None:
    backends = [BackendState(f"host{i}@disk", f"az{i % 3}") for i in range(pools // POOLS_PER_BACKEND)]
    db.write(lambda tx: [report(tx, backend.name, samples(i), {}) for i, backend in enumerate(backends)])
    view = PoolView(db, lambda _tx: backends, max_age=3600)
    lookups = Lookups()
    filters = [AvailabilityZoneFilter(lookups), CapacityFilter(lookups), CapabilitiesFilter(lookups)]
    scheduler = Scheduler(filters, [FreeRatioWeigher(lookups)])

    show(f"read all {len(backends) * POOLS_PER_BACKEND} pools", view.reread, 1)
    show("read what changed", view.reread, rounds)
    for name, request in REQUESTS.items():
        show(f"rank: {name}", partial(scheduler.rank, request, view.pools()), rounds)
    request = REQUESTS["one zone, one spec"]

    def place() -> None:
        scheduler.place(request, view, lambda pool: db.write(lambda tx: claim(tx, pool.host, request.gb)))

    show("place: one zone, one spec", place, rounds)


def samples(backend: int) -> list[PoolSample]:
    return [
        PoolSample(
            name=f"pool{i}",
            total_gb=1000.0,
            free_gb=400.0 + (backend * 37 + i * 101) % 600,
            thin=True,
            max_over_subscription_ratio=20.0,
            capabilities={"volume_backend_name": ("fast", "slow")[backend % 2], "iops": 1000 * (i % 5)},
        )
        for i in range(POOLS_PER_BACKEND)
    ]


def show(name: str, work: Callable[[], object], rounds: int) -> None:
    wall, cpu = [], []
    for _ in range(rounds):
        before = time.perf_counter(), time.thread_time()
        work()
        wall.append(time.perf_counter() - before[0])
        cpu.append(time.thread_time() - before[1])
    print(f"{name:32} median {statistics.median(wall) * 1e3:8.2f} ms, cpu {statistics.median(cpu) * 1e3:8.2f} ms")


if __name__ == "__main__":
    main()
