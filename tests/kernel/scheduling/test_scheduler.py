from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select

from pumice.kernel.db.engine import Database
from pumice.kernel.scheduling.filters import AvailabilityZoneFilter, CapabilitiesFilter, CapacityFilter
from pumice.kernel.scheduling.plugins import Lookups
from pumice.kernel.scheduling.pool import (
    BackendState,
    Pool,
    PoolSample,
    PoolState,
    claim,
    release,
    report,
    settle,
    settled_now,
)
from pumice.kernel.scheduling.scheduler import NoValidPool, Scheduler, covers
from pumice.kernel.scheduling.view import PoolView
from pumice.kernel.scheduling.weighers import FreeRatioWeigher, chance
from tests.kernel.scheduling.build import best_first, hosts, pool, request

NOTHING = Lookups()
BACKEND = BackendState("h@b", "nova")


def scheduler() -> Scheduler:
    filters = [AvailabilityZoneFilter(NOTHING), CapacityFilter(NOTHING), CapabilitiesFilter(NOTHING)]
    return Scheduler(filters, [FreeRatioWeigher(NOTHING)])


def view_of(db: Database) -> PoolView:
    return PoolView(db, lambda _tx: [BACKEND])


def store(db: Database, **frees: float) -> None:
    samples = [PoolSample(name, 100.0, free) for name, free in frees.items()]
    assert db.write(lambda tx: report(tx, "h@b", samples, settled_now(tx, "h@b"))) == []


def take(db: Database, chosen: PoolState, gb: int = 1) -> bool:
    return db.write(lambda tx: claim(tx, chosen.host, gb))


def test_the_ranking_says_what_each_step_left() -> None:
    pools = [
        pool("h@a#1", zone="east", free=90.0),
        pool("h@b#1", zone="west"),
        pool("h@c#1", zone="east", free=3.0),
        pool("h@d#1", zone="east", up=False),
        pool("h@e#1", zone="east", free=50.0),
    ]
    ranking = scheduler().rank(request(10, zones=frozenset({"east"})), pools)
    assert best_first(ranking) == ["h@a#1", "h@e#1"]
    assert ranking.chosen is pools[0]
    assert ranking.emptied_by is None
    assert ranking.explain() == (
        "known: 5, in service: 4, AvailabilityZoneFilter: 3, CapacityFilter: 2, CapabilitiesFilter: 2"
    )


@pytest.mark.parametrize(
    ("pools", "step"),
    [
        ([], "known"),
        ([pool(disabled=True)], "in service"),
        ([pool(frozen=True)], "in service"),
        ([pool(zone="west")], "AvailabilityZoneFilter"),
        ([pool(zone="east", free=1.0)], "CapacityFilter"),
        ([pool(zone="east")], "CapabilitiesFilter"),
    ],
)
def test_the_step_that_left_nothing_is_named(pools: list[PoolState], step: str) -> None:
    wanted = request(10, zones=frozenset({"east"}), extra_specs={"tier": "gold"})
    ranking = scheduler().rank(wanted, pools)
    assert (ranking.emptied_by, ranking.chosen, best_first(ranking)) == (step, None, [])


@pytest.mark.parametrize(
    ("name", "host", "expected"),
    [
        ("h@b#p", "h@b#p", True),
        ("h@b", "h@b#p", True),
        ("h", "h@b#p", True),
        ("h@b", "h@bb#p", False),
        ("h", "hh@b#p", False),
        ("h@b#p", "h@b", False),
    ],
)
def test_what_belongs_to_a_host_or_backend(name: str, host: str, expected: bool) -> None:
    assert covers(name, host) is expected


def test_a_request_bound_to_a_backend_goes_nowhere_else() -> None:
    pools = [pool("h@a#1"), pool("h@b#1", free=20.0), pool("h@b#2", free=10.0)]
    assert hosts(scheduler().rank(request(only="h@b"), pools).pools) == ["h@b#1", "h@b#2"]
    assert hosts(scheduler().rank(request(only="h@b#2"), pools).pools) == ["h@b#2"]
    assert scheduler().rank(request(15, only="h@b#2"), pools).emptied_by == "CapacityFilter"


def test_placing_claims_the_best_pool_and_sees_its_own_claim(db: Database) -> None:
    store(db, p=100.0, q=100.0)
    view = view_of(db)
    placed = [scheduler().place(request(10), view, lambda chosen: take(db, chosen, 10)).host for _ in range(10)]
    assert sorted(placed) == ["h@b#p"] * 5 + ["h@b#q"] * 5


def test_a_loser_reads_the_pool_again_and_goes_on(db: Database) -> None:
    store(db, p=100.0, q=60.0)
    view = view_of(db)
    view.pools()
    assert db.write(lambda tx: claim(tx, "h@b#p", 95)), "another scheduler's claim, which the view has not seen"
    lost = []

    def attempt(chosen: PoolState) -> bool:
        won = take(db, chosen, 10)
        if not won:
            lost.append(chosen.host)
        return won

    assert scheduler().place(request(10), view, attempt).host == "h@b#q"
    assert lost == ["h@b#p"]


def test_a_request_is_refused_only_on_what_the_database_says_now(db: Database) -> None:
    store(db, p=5.0)
    view = view_of(db)
    view.pools()
    store(db, p=50.0)
    assert scheduler().place(request(10), view, lambda chosen: take(db, chosen, 10)).host == "h@b#p"


def test_no_pool_will_do(db: Database) -> None:
    store(db, p=5.0)
    with pytest.raises(NoValidPool, match="in service: 1, AvailabilityZoneFilter: 1, CapacityFilter: 0") as caught:
        scheduler().place(request(10), view_of(db), lambda chosen: take(db, chosen, 10))
    assert (caught.value.emptied_by, caught.value.unsure) == ("CapacityFilter", False)


@pytest.mark.parametrize(("cause", "hoped_for"), [("building", 40), ("removed", 100)])
def test_a_refusal_is_unsure_while_the_sample_is(db: Database, cause: str, hoped_for: int) -> None:
    store(db, p=100.0)
    db.write(lambda tx: claim(tx, "h@b#p", 60))
    if cause == "building":
        store(db, p=40.0)
    else:
        db.write(lambda tx: settle(tx, "h@b#p", 60))
        db.write(lambda tx: release(tx, "h@b#p", 60, settled=True))
    for gb, unsure in ((hoped_for, True), (hoped_for + 1, False)):
        with pytest.raises(NoValidPool) as caught:
            scheduler().place(request(gb), view_of(db), lambda _chosen: pytest.fail("no pool has room"))
        assert (caught.value.emptied_by, caught.value.unsure) == ("CapacityFilter", unsure)


def test_claims_that_are_always_lost_end() -> None:
    class Unchanging:
        def pools(self) -> Sequence[PoolState]:
            return [pool()]

        def reread(self, hosts: Collection[str] | None = None) -> None: ...

    with pytest.raises(NoValidPool) as caught:
        scheduler().place(request(), Unchanging(), lambda _chosen: False)
    assert caught.value.unsure


def test_what_the_claim_raises_is_passed_on(db: Database) -> None:
    store(db, p=100.0)

    def broken(_chosen: PoolState) -> bool:
        raise LookupError("the operation is not ours any more")

    with pytest.raises(LookupError):
        scheduler().place(request(), view_of(db), broken)


def test_the_stochastic_handler_spreads() -> None:
    pools = [pool("h@b#1", free=100.0), pool("h@b#2", free=70.0), pool("h@b#3", free=10.0)]
    each = Scheduler([], [FreeRatioWeigher(NOTHING)], chance)
    chosen = {found.host for _ in range(200) if (found := each.rank(request(), pools).chosen)}
    assert chosen == {"h@b#1", "h@b#2"}


@pytest.mark.parametrize("frees", [{"p": 20.0}, {"p": 7.0, "q": 8.0, "r": 5.0}])
def test_two_schedulers_and_forty_requests_for_a_room_of_twenty(
    tmp_path: Path, db: Database, frees: dict[str, float]
) -> None:
    store(db, **frees)
    databases = [Database(str(db.url)) for _ in range(2)]  # as two processes: each its own writer lock
    views = [view_of(each) for each in databases]
    start = threading.Barrier(40)

    def place(number: int) -> str:
        which = number % 2
        start.wait(timeout=30)
        try:
            return scheduler().place(request(), views[which], lambda chosen: take(databases[which], chosen)).host
        except NoValidPool as error:
            return "unsure" if error.unsure else "none"

    with ThreadPoolExecutor(40) as threads:
        placed = list(threads.map(place, range(40)))
    for each in databases:
        each.close()
    assert placed.count("none") == 20
    assert {name: placed.count(f"h@b#{name}") for name in frees} == frees
    with db.read() as tx:
        assert sum(tx.execute(select(Pool.allocated_gb)).scalars()) == 20


def test_a_pool_that_failed_the_request_is_not_tried_again() -> None:
    pools = [pool("h@a#1"), pool("h@b#1")]
    ranking = Scheduler([], []).rank(request(attempted=frozenset({"h@a#1"})), pools)
    assert [one.host for one in ranking.pools] == ["h@b#1"]
