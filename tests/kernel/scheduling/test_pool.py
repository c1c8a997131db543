from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from pumice.kernel.db.engine import Database, TryAgain
from pumice.kernel.scheduling.pool import (
    BackendState,
    Pool,
    PoolSample,
    PoolState,
    check_claims,
    claim,
    release,
    report,
    settle,
    settled_now,
    state_of,
)
from tests.kernel.scheduling.build import pool

BACKEND = BackendState("h@b", "nova")
HOST = "h@b#p"


def sample(total: float | None = 100.0, free: float | None = 100.0, name: str = "p", **values: Any) -> PoolSample:
    return PoolSample(name, total, free, **values)


def store(db: Database, *samples: PoolSample) -> list[str]:
    return db.write(lambda tx: report(tx, "h@b", samples, settled_now(tx, "h@b")))


def seen(db: Database, host: str = HOST) -> PoolState:
    with db.read() as tx:
        return state_of(tx.execute(select(*Pool.__table__.columns).where(Pool.host == host)).one(), BACKEND)


@pytest.mark.parametrize(
    ("values", "thin_room", "thick_room"),
    [
        ({}, 100, 100),
        ({"free": 5.5}, 5.5, 5.5),
        ({"pending_gb": 30}, 70, 70),
        ({"reserved_percentage": 10, "pending_gb": 30}, 60, 60),
        ({"free": 10, "reserved_percentage": 20}, -10, -10),
        ({"free": None}, math.inf, math.inf),
        ({"free": math.inf}, math.inf, math.inf),
        ({"free": None, "total": None, "reserved_percentage": 5}, math.inf, math.inf),
        ({"total": None, "free": 7.0}, math.inf, math.inf),
        ({"total": math.inf, "free": 7.0}, math.inf, math.inf),
        ({"total": math.inf, "free": 7.0, "reserved_percentage": 1}, -math.inf, -math.inf),
        ({"total": None, "free": 7.0, "reserved_percentage": 1}, -math.inf, -math.inf),
        ({"total": 0.0, "free": 7.0}, -math.inf, -math.inf),
        # thin: what may still be promised, and what the free space is worth when promised
        ({"thin": True, "max_over_subscription_ratio": 2.0}, 200, 100),
        ({"thin": True, "max_over_subscription_ratio": 2.0, "provisioned_gb": 150}, 50, 100),
        ({"thin": True, "max_over_subscription_ratio": 2.0, "provisioned_gb": 150, "pending_gb": 20}, 30, 80),
        ({"thin": True, "max_over_subscription_ratio": 20.0, "free": 2.0, "provisioned_gb": 10}, 40, 2),
        ({"thin": True, "max_over_subscription_ratio": 2.0, "reserved_percentage": 10}, 180, 90),
    ],
)
def test_the_room_of_a_pool(values: dict[str, Any], thin_room: float, thick_room: float) -> None:
    state = pool(**values)
    assert (state.thin_room, state.thick_room) == (thin_room, thick_room)


def test_free_ratios_are_to_what_the_pool_may_hold() -> None:
    thin = pool(thin=True, max_over_subscription_ratio=2.0, provisioned_gb=150, allocated_gb=50)
    assert (thin.thin_free_ratio, thin.thick_free_ratio, thin.placed_ratio) == (0.25, 1.0, 0.25)
    assert pool(total=None, free=None).thin_free_ratio == -math.inf
    assert pool(total=None, free=5.0).thin_free_ratio == -math.inf
    assert pool(total=math.inf, free=math.inf).thin_free_ratio == math.inf
    assert pool(total=0.0, free=0.0).thin_free_ratio == -math.inf


@pytest.mark.parametrize(
    ("state", "taking"),
    [
        (BackendState("b", "z"), True),
        (BackendState("b", "z", up=False), False),
        (BackendState("b", "z", disabled=True), False),
        (BackendState("b", "z", frozen=True), False),
    ],
)
def test_what_a_backend_takes(state: BackendState, taking: bool) -> None:
    assert state.taking is taking


figures = st.floats(0, 1e6).map(lambda gb: round(gb, 6))
sizes = st.none() | figures | st.integers(0, 1000).map(float)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    row=st.fixed_dictionaries(
        {
            "total_gb": sizes,
            "free_gb": sizes,
            "provisioned_gb": figures,
            "thin": st.booleans(),
            "reserved_percentage": st.integers(0, 100),
            "max_over_subscription_ratio": st.sampled_from([1.0, 1.5, 20.0]) | st.floats(1, 30),
            "allocated_gb": st.integers(0, 2000),
            "sampled_gb": st.integers(-100, 2000),
        }
    ),
    gb=st.integers(1, 3000),
    thick=st.booleans(),
    at_the_edge=st.booleans(),
)
def test_a_claim_and_the_filter_are_the_same_rule(
    db: Database, row: dict[str, Any], gb: int, thick: bool, at_the_edge: bool
) -> None:
    """`claim` succeeds exactly when the room that the filter sees is enough."""
    with Session(db.engine) as tx:
        tx.execute(insert(Pool).values(host=HOST, backend="h@b", capabilities={}, **row))
        state = state_of(tx.execute(select(*Pool.__table__.columns)).one(), BACKEND)
        room = state.thick_room if thick else state.thin_room
        if at_the_edge and 1 <= room < math.inf:
            gb = math.floor(room)
        assert claim(tx, HOST, gb, thick=thick) is (room >= gb)
        tx.rollback()


def test_claims_fill_a_pool_and_no_more(db: Database) -> None:
    assert store(db, sample(free=20.0)) == []
    won = [db.write(lambda tx: claim(tx, HOST, 3)) for _ in range(8)]
    assert won == [True] * 6 + [False] * 2
    assert db.write(lambda tx: claim(tx, HOST, 2))
    assert seen(db).thick_room == 0
    assert db.write(lambda tx: claim(tx, HOST, 0)), "nothing fits even where there is no room"


def test_no_claim_on_a_pool_that_is_unknown_or_gone(db: Database) -> None:
    assert not db.write(lambda tx: claim(tx, HOST, 1))
    store(db, sample(), sample(name="q"))
    assert store(db, sample(name="q")) == []
    assert not db.write(lambda tx: claim(tx, HOST, 1))
    assert store(db, sample(), sample(name="q")) == []
    assert db.write(lambda tx: claim(tx, HOST, 1))


def test_a_claim_that_was_never_built_is_room_again_at_once(db: Database) -> None:
    store(db, sample(free=10.0))
    assert db.write(lambda tx: claim(tx, HOST, 10))
    db.write(lambda tx: release(tx, HOST, 10, settled=False))
    assert seen(db).thick_room == 10
    with db.read() as tx:
        assert check_claims(tx, []) == []


def test_what_was_built_counts_once_when_a_sample_has_it(db: Database) -> None:
    store(db, sample(free=10.0))
    db.write(lambda tx: claim(tx, HOST, 4))
    db.write(lambda tx: settle(tx, HOST, 4))
    assert seen(db).thick_room == 6, "the old sample and the claim"
    store(db, sample(free=6.0))
    assert seen(db).thick_room == 6, "the new sample has it"
    assert seen(db).pending_gb == 0


def test_what_was_removed_is_room_when_a_sample_shows_it(db: Database) -> None:
    """Its storage may have been gone when the last sample was taken: it must not count as free twice."""
    store(db, sample(free=10.0))
    db.write(lambda tx: claim(tx, HOST, 4))
    db.write(lambda tx: settle(tx, HOST, 4))
    store(db, sample(free=10.0))  # taken while the driver had removed it, before the removal was recorded
    db.write(lambda tx: release(tx, HOST, 4, settled=True))
    assert seen(db).thick_room == 10
    assert seen(db).hopeful().thick_room == 14
    store(db, sample(free=10.0))
    assert seen(db).thick_room == seen(db).hopeful().thick_room == 10


def test_a_sample_taken_while_something_is_built_leaves_it_pending_but_unsure(db: Database) -> None:
    store(db, sample(free=10.0))
    db.write(lambda tx: claim(tx, HOST, 4))
    store(db, sample(free=6.0))  # its storage is there, its transaction is not
    assert seen(db).thick_room == 2, "safe: it may count twice"
    assert seen(db).hopeful().thick_room == 6
    db.write(lambda tx: settle(tx, HOST, 4))
    store(db, sample(free=6.0))
    assert seen(db).thick_room == 6
    assert seen(db).unsure_gb == 0


def test_a_sample_is_not_stored_when_something_was_settled_meanwhile(db: Database) -> None:
    store(db, sample(free=10.0))
    db.write(lambda tx: claim(tx, HOST, 4))
    before = db.write(lambda tx: settled_now(tx, "h@b"))
    db.write(lambda tx: settle(tx, HOST, 4))
    again = db.write(lambda tx: report(tx, "h@b", [sample(free=10.0)], before))
    assert again == [HOST]
    assert seen(db).thick_room == 6, "the old sample and the claim stay true"
    assert store(db, sample(free=6.0)) == []
    assert seen(db).thick_room == 6


def test_every_change_that_schedulers_see_moves_the_version(db: Database) -> None:
    def version() -> int:
        with db.read() as tx:
            return tx.execute(select(Pool.version)).scalar_one()

    store(db, sample())
    versions = [version()]
    for change in (
        lambda tx: claim(tx, HOST, 5),
        lambda tx: release(tx, HOST, 1, settled=False),
        lambda tx: release(tx, HOST, 1, settled=True),
        lambda tx: report(tx, "h@b", [sample(free=1.0)], settled_now(tx, "h@b")),
        lambda tx: report(tx, "h@b", [], {}),
    ):
        db.write(change)
        versions.append(version())
    assert versions == sorted(set(versions))


def test_a_transaction_that_is_run_again_claims_once(db: Database) -> None:
    store(db, sample(free=10.0))
    attempts = []

    def work(tx: Session) -> bool:
        won = claim(tx, HOST, 6)
        attempts.append(won)
        if len(attempts) == 1:
            raise TryAgain
        return won

    assert db.write(work)
    assert attempts == [True, True]
    assert seen(db).thick_room == 4


def test_capabilities_hold_the_figures_that_the_api_shows(db: Database) -> None:
    store(
        db,
        sample(total=50.0, free=20.5, provisioned_gb=7.0, thin=True, max_over_subscription_ratio=3.0,
               reserved_percentage=5, capabilities={"vendor_name": "us", "compression": ["lz4", "zstd"]}),
        sample(name="q", total=math.inf, free=None),
    )  # fmt: skip
    db.write(lambda tx: claim(tx, HOST, 2))
    capabilities = dict(seen(db).capabilities)
    assert capabilities.pop("timestamp")
    assert capabilities == {
        "pool_name": "p",
        "vendor_name": "us",
        "compression": ["lz4", "zstd"],
        "total_capacity_gb": 50.0,
        "free_capacity_gb": 20.5,
        "provisioned_capacity_gb": 7.0,
        "allocated_capacity_gb": 2,
        "reserved_percentage": 5,
        "max_over_subscription_ratio": 3.0,
        "thin_provisioning_support": True,
    }
    other = seen(db, "h@b#q")
    assert (other.total_gb, other.free_gb) == (math.inf, None)
    assert other.capabilities["total_capacity_gb"] == "infinite"
    assert other.capabilities["free_capacity_gb"] == "unknown"
    for figure, word in ((math.nan, "unknown"), (-math.inf, "unknown"), (1e300, "infinite")):
        store(db, sample(), sample(name="q", total=9.0, free=figure))
        other = seen(db, "h@b#q")
        assert other.capabilities["free_capacity_gb"] == word
        assert (other.total_gb, other.capabilities["total_capacity_gb"]) == (9.0, 9.0)
    store(db, sample(), sample(name="q", total=9.12345678, free=1e-300))
    other = seen(db, "h@b#q")
    assert (other.total_gb, other.free_gb) == (9.123457, 0.0)


def test_claims_are_checked_against_sums(db: Database) -> None:
    store(db, sample(), sample(name="q"))
    db.write(lambda tx: claim(tx, HOST, 5))
    db.write(lambda tx: settle(tx, HOST, 6))
    with db.read() as tx:
        assert check_claims(tx, [(HOST, 3), (HOST, 1), ("h@c#r", 1)]) == [
            "pool h@b#p: 5 GiB are claimed, its resources sum up to 4 GiB",
            "pool h@b#p: 6 GiB are settled of 5 GiB claimed",
            "pool h@c#r: 0 GiB are claimed, its resources sum up to 1 GiB",
        ]
    db.write(lambda tx: release(tx, HOST, 1, settled=True))
    with db.read() as tx:
        assert check_claims(tx, [(HOST, 4)]) == ["pool h@b#p: 5 GiB are settled of 4 GiB claimed"]


EVENTS = ["claim", "claim", "build", "finish", "fail", "remove", "forget", "sample"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(EVENTS), st.sampled_from([7, 10, 20])), min_size=40, max_size=80))
@example([(event, 20) for event in ("claim", "build", "finish", "remove", "sample", "claim", "forget", "claim")])
def test_no_order_of_events_overcommits(db: Database, events: list[tuple[str, int]]) -> None:
    """A backend of 20 GiB whose storage changes a while before the database says so, sampled at any moment."""
    built: dict[int, int] = {}  # on the backend
    claimed: dict[int, int] = {}  # rows not built or not yet recorded as built
    whole: dict[int, int] = {}  # rows recorded as built
    with Session(db.engine) as tx:
        report(tx, "h@b", [sample(20.0, 20.0)], {})
        for number, (event, gb) in enumerate(events):
            first = next(iter(claimed), None)
            if event == "claim" and claim(tx, HOST, gb):
                claimed[number] = gb
            elif event == "build" and first is not None:
                built[first] = claimed[first]
            elif event == "finish" and first in built:
                settle(tx, HOST, claimed[first])
                whole[first] = claimed.pop(first)
            elif event == "fail" and first is not None and first not in built:
                release(tx, HOST, claimed.pop(first), settled=False)
            elif event == "remove" and whole:
                built.pop(next(iter(whole)), None)
            elif event == "forget" and (gone := next((n for n in whole if n not in built), None)) is not None:
                release(tx, HOST, whole.pop(gone), settled=True)
            elif event == "sample":
                report(tx, "h@b", [sample(20.0, 20.0 - sum(built.values()))], settled_now(tx, "h@b"))
            assert sum(claimed.values()) + sum(gb for n, gb in built.items() if n in whole) <= 20
            assert check_claims(tx, [(HOST, gb) for gb in (*claimed.values(), *whole.values())]) == []
        tx.rollback()
