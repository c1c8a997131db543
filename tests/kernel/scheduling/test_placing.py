from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pumice.kernel.db.engine import Database
from pumice.kernel.messages import Cause
from pumice.kernel.moves import End
from pumice.kernel.operations.kinds import Failure
from pumice.kernel.scheduling.filters import CapacityFilter
from pumice.kernel.scheduling.placing import SCHEDULER, Placer, elsewhere, release_growth, reserve_growth, wanted
from pumice.kernel.scheduling.plugins import Lookups
from pumice.kernel.scheduling.pool import BackendState, Pool, PoolSample, claim, report, settled_now
from pumice.kernel.scheduling.request import PlacementRequest
from pumice.kernel.scheduling.scheduler import Scheduler
from pumice.kernel.scheduling.view import PoolView
from pumice.kernel.services import WorkerService, set_disabled

HOST = "h@b#p"


def run(environment: Any = None, checkpoint: dict[str, Any] | None = None, **args: Any) -> Any:
    return SimpleNamespace(environment=environment, check=lambda: None, checkpoint=checkpoint or {}, args=args)


def row(host: str | None = HOST) -> Any:
    return SimpleNamespace(id="1", host=host, backend=(host or "").partition("#")[0], __label__="Thing")


def placer() -> Placer:
    unused: Any = None
    return Placer(unused, unused, binary="worker", part="thing", refusal=Cause.UNKNOWN)


@pytest.fixture
def pool(db: Database) -> Database:
    """A pool of 100 GiB, 10 of which are claimed."""
    db.write(lambda tx: report(tx, "h@b", [PoolSample("p", 100.0, 100.0)], settled_now(tx, "h@b")))
    assert db.write(lambda tx: claim(tx, HOST, 10))
    return db


def allocated(db: Database) -> int:
    with db.read() as tx:
        return tx.get_one(Pool, HOST).allocated_gb


def refusal() -> Failure:
    return Failure("it is broken")


def test_what_the_scheduler_is_asked() -> None:
    args = {"zones": ["a", "b"], "hints": {"x": 1}, "only": "h@b"}
    request = wanted(args, {"attempted": ["h@c#p"]}, id="1", gb=5)
    assert (request.id, request.gb, request.only, request.hints) == ("1", 5, "h@b", {"x": 1})
    assert (request.zones, request.attempted) == ({"a", "b"}, {"h@c#p"})


@pytest.mark.parametrize(
    ("gb", "hints", "disabled", "expected"),
    [
        (90, {"same_host": ""}, False, ("thing:h@b", "build", HOST, 100)),
        (91, {}, False, (SCHEDULER, "run", None, 10)),
        (90, {"same_host": "1"}, False, (SCHEDULER, "run", None, 10)),
        (90, {}, True, (SCHEDULER, "run", None, 10)),
    ],
    ids=["room", "no room", "a hint", "closed since the view was read"],
)
def test_what_is_placed_at_once_and_what_by_the_scheduler(
    pool: Database, gb: int, hints: dict[str, str], disabled: bool, expected: tuple[str, str, str | None, int]
) -> None:
    view, new = PoolView(pool, lambda _tx: [BackendState("h@b", "nova")]), row(None)
    asked = PlacementRequest(id="1", gb=gb, hints=hints)
    scheduler = Scheduler([CapacityFilter(Lookups())], [])
    here = Placer(scheduler, view, binary="worker", part="thing", refusal=Cause.UNKNOWN)
    view.pools()
    pool.write(lambda tx: tx.add(WorkerService(host="h@b", binary="worker", topic="t", availability_zone="z")))
    pool.write(lambda tx: set_disabled(tx, "h@b", "worker", disabled))
    queue, step = pool.write(lambda tx: here.at_once(tx, new, asked))
    assert (queue, step, new.host, allocated(pool)) == expected


def test_what_is_placed_at_once_counts_from_then_on(pool: Database) -> None:
    """Without the pool's row being read again; what another process has placed since turns up with the lost claim."""
    view = PoolView(pool, lambda _tx: [BackendState("h@b", "nova")], max_age=3600)
    scheduler = Scheduler([CapacityFilter(Lookups())], [])
    here = Placer(scheduler, view, binary="worker", part="thing", refusal=Cause.UNKNOWN)

    def place(gb: int) -> str:
        return pool.write(lambda tx: here.at_once(tx, row(None), PlacementRequest(id="1", gb=gb)))[0]

    assert place(40) == "thing:h@b"
    (seen,) = view.pools()
    assert (seen.allocated_gb, seen.thick_room) == (50, 50)
    assert pool.write(lambda tx: claim(tx, HOST, 20))
    assert place(40) == SCHEDULER
    (seen,) = view.pools()
    assert (seen.allocated_gb, seen.thick_room) == (70, 30)


def test_what_one_backend_refuses_another_may_build(pool: Database) -> None:
    removed: list[str] = []
    found = elsewhere(run(attempts=3), row(), 10, refusal(), bound=False, remove=lambda: removed.append("it"))
    assert (found.step, found.queue, found.values) == ("run", SCHEDULER, {"host": None})
    assert found.checkpoint == {"attempted": [HOST], "refused": "it is broken"}
    pool.write(found.also)
    assert (removed, allocated(pool)) == (["it"], 0)


@pytest.mark.parametrize(("bound", "attempts"), [(True, 3), (False, 1)])
def test_tries_have_an_end(bound: bool, attempts: int) -> None:
    removed: list[str] = []
    with pytest.raises(Failure, match="it is broken"):
        elsewhere(run(attempts=attempts), row(), 10, refusal(), bound=bound, remove=lambda: removed.append("it"))
    assert removed == []


def test_growth_is_claimed_before_the_backend_is_asked(pool: Database) -> None:
    found = reserve_growth(run(placer(), thick=False), row(), 80, then="grow")
    assert (found.step, found.queue, found.checkpoint) == ("grow", "thing:h@b", {"claimed": 80})
    pool.write(found.also)
    assert allocated(pool) == 90
    operation: Any = SimpleNamespace(checkpoint=found.checkpoint)
    pool.write(lambda tx: release_growth(tx, operation, row()))
    assert allocated(pool) == 10
    operation.checkpoint = {}
    pool.write(lambda tx: release_growth(tx, operation, row()))
    assert allocated(pool) == 10


def test_growth_without_room_leaves_the_resource_as_it_was(pool: Database) -> None:
    found = reserve_growth(run(placer(), thick=False), row(), 95, then="grow")
    with pytest.raises(Failure, match="no room for 95 GiB more") as failed:
        pool.write(found.also)
    assert failed.value.status is End.PREVIOUS
    assert allocated(pool) == 10
    regardless = reserve_growth(run(placer(), thick=False, force=True), row(), 95, then="grow")
    pool.write(regardless.also)
    assert allocated(pool) == 105
