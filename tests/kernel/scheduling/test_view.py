from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Engine, event

from pumice.kernel.db.engine import Database
from pumice.kernel.scheduling.pool import BackendState, PoolSample, claim, report, settled_now
from pumice.kernel.scheduling.view import PoolView
from tests.kernel.scheduling.build import hosts


class World:
    """A database with pools, the backends that the services table would give, and a clock."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.now = 1000.0
        self.backends = {name: BackendState(name, "nova") for name in ("h@a", "h@b")}
        self.report("h@a", "1", "2")
        self.report("h@b", "1")
        self.view = PoolView(db, lambda _tx: self.backends.values(), max_age=5.0, clock=lambda: self.now)

    def report(self, backend: str, *names: str, free: float = 100.0) -> None:
        samples = [PoolSample(name, 100.0, free) for name in names]
        self.db.write(lambda tx: report(tx, backend, samples, settled_now(tx, backend)))

    def claim(self, host: str, gb: int) -> None:
        assert self.db.write(lambda tx: claim(tx, host, gb))

    def rooms(self) -> dict[str, float]:
        return {pool.host: pool.thick_room for pool in self.view.pools()}


@pytest.fixture
def world(db: Database) -> World:
    return World(db)


@contextmanager
def statements(db: Database) -> Iterator[list[str]]:
    seen: list[str] = []

    def listen(_c: object, _cursor: object, statement: str, *_rest: object) -> None:
        seen.append(statement)

    event.listen(Engine, "before_cursor_execute", listen)
    yield seen
    event.remove(Engine, "before_cursor_execute", listen)


def test_it_is_read_anew_only_when_it_is_old(world: World) -> None:
    assert world.rooms() == {"h@a#1": 100, "h@a#2": 100, "h@b#1": 100}
    world.claim("h@a#1", 30)
    world.now += 5.0
    assert world.rooms()["h@a#1"] == 100
    world.now += 0.1
    assert world.rooms() == {"h@a#1": 70, "h@a#2": 100, "h@b#1": 100}


def test_rows_that_did_not_change_are_not_read_again(world: World) -> None:
    world.view.reread()
    before = {pool.host: pool for pool in world.view.pools()}
    with statements(world.db) as seen:
        world.view.reread()
    assert len([each for each in seen if each.startswith("SELECT")]) == 1
    world.claim("h@a#2", 1)
    world.view.reread()
    after = {pool.host: pool for pool in world.view.pools()}
    assert [host for host in after if after[host] is not before[host]] == ["h@a#2"]


def test_one_pool_can_be_read_again(world: World) -> None:
    world.rooms()
    world.claim("h@a#1", 30)
    world.claim("h@b#1", 30)
    world.view.reread(["h@a#1", "h@a#nobody"])
    assert world.rooms() == {"h@a#1": 70, "h@a#2": 100, "h@b#1": 100}


def test_what_was_heard_is_read_when_pools_are_asked_for(world: World) -> None:
    world.rooms()
    world.claim("h@a#1", 30)
    world.report("h@b", "1", "new", free=50.0)
    world.view.hear(["h@b#1", "h@b#new"])
    assert world.rooms() == {"h@a#1": 100, "h@a#2": 100, "h@b#1": 50, "h@b#new": 50}
    with statements(world.db) as seen:
        world.rooms()
    assert seen == []


def test_pools_that_are_gone_leave_and_come_back(world: World) -> None:
    world.rooms()
    world.report("h@a", "2")
    world.view.reread()
    assert set(world.rooms()) == {"h@a#2", "h@b#1"}
    world.report("h@a", "1", "2")
    world.view.reread(["h@a#1"])
    assert set(world.rooms()) == {"h@a#1", "h@a#2", "h@b#1"}
    world.report("h@a", "1")
    world.view.reread(["h@a#2"])
    assert set(world.rooms()) == {"h@a#1", "h@b#1"}


def test_the_state_of_a_backend_reaches_its_pools(world: World) -> None:
    kept = world.view.pools()
    world.backends["h@a"] = BackendState("h@a", "east", up=False)
    world.view.reread()
    assert {pool.host: (pool.state.up, pool.state.availability_zone) for pool in world.view.pools()} == {
        "h@a#1": (False, "east"),
        "h@a#2": (False, "east"),
        "h@b#1": (True, "nova"),
    }
    assert all(pool.state.up for pool in kept), "a list that was given out stays as it was"


def test_pools_of_a_backend_without_a_service_are_left_out(world: World) -> None:
    gone = world.backends.pop("h@a")
    assert hosts(world.view.pools()) == ["h@b#1"]
    world.backends["h@a"] = gone
    world.view.reread()
    assert set(world.rooms()) == {"h@a#1", "h@a#2", "h@b#1"}
    del world.backends["h@a"]
    world.view.reread()
    assert hosts(world.view.pools()) == ["h@b#1"]


def test_more_pools_than_one_statement_names(world: World) -> None:
    world.report("h@b", *map(str, range(1201)))
    assert len(world.view.pools()) == 1203
