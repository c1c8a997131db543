from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from oslo_db.exception import DBConnectionError
from sqlalchemy import update

from pumice.kernel.db.base import new_id, utcnow
from pumice.kernel.db.engine import Database
from pumice.kernel.metrics import Metrics
from pumice.kernel.operations.claims import Claims
from pumice.kernel.operations.journal import Journal
from pumice.kernel.operations.kinds import Done, Kind, Next, Outcome
from pumice.kernel.operations.model import Lane, Operation, State
from pumice.kernel.operations.ownership import LeaseLost
from pumice.kernel.operations.waiting import Waiter
from pumice.kernel.operations.worker import TOO_LATE, Run, Worker
from tests.kernel.things import (
    CONTEXT,
    NOTHING,
    Thing,
    add_thing,
    database,
    journal_of,
    operation_of,
    paint,
    paint_kind,
    thing_of,
)
from tests.support.waiting import LONG, eventually

LANES = {Lane.WORK: 2, Lane.FAST: 1}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    made = database(tmp_path)
    yield made
    made.close()


class Shop:
    """Workers on one journal, all stopped at the end."""

    def __init__(self, db: Database, directory: Path) -> None:
        self.db = db
        self.directory = directory
        self.workers: list[Worker] = []
        self.journals: list[Journal] = []

    def journal(self, *kinds: Kind) -> Journal:
        self.journals.append(journal_of(self.db, *kinds))
        return self.journals[-1]

    def worker(self, journal: Journal, *, start: bool = True, **options: Any) -> Worker:
        settings: dict[str, Any] = {
            "lanes": LANES,
            "directory": self.directory,
            "sweep": 0.2,
            "host": "here",
            "metrics": Metrics("t"),
        }
        worker = Worker(journal, {"q": "brush"}, **(settings | options))
        self.workers.append(worker)
        if start:
            worker.start()
        return worker

    def close(self) -> None:
        for worker in self.workers:
            worker.stop(grace=2)
        for journal in self.journals:
            journal.bus.close()


@pytest.fixture
def shop(db: Database, tmp_path: Path) -> Iterator[Shop]:
    made = Shop(db, tmp_path / "workers")
    yield made
    made.close()


def status(db: Database, thing: str) -> str:
    row = thing_of(db, thing)
    return row.status if row else "gone"


def ended(db: Database, id: str) -> bool:
    return operation_of(db, id).finished_at is not None


def test_a_doorbell_is_answered_at_once(db: Database, shop: Shop) -> None:
    journal = shop.journal(paint_kind())
    shop.worker(journal, sweep=60)
    time.sleep(0.1)  # the first sweep is over
    thing = add_thing(db)
    begin = time.monotonic()
    paint(journal, thing)
    eventually(lambda: status(db, thing) == "painted")
    assert time.monotonic() - begin < LONG


def test_a_lost_doorbell_costs_a_sweep(db: Database, shop: Shop) -> None:
    journal = shop.journal(paint_kind())
    thing = add_thing(db)
    paint(journal, thing)  # nobody listens yet
    shop.worker(journal)
    eventually(lambda: status(db, thing) == "painted")


def test_steps_see_their_environment_and_arguments(db: Database, shop: Shop) -> None:
    seen: list[tuple[Any, str]] = []

    def step(run: Run) -> Outcome:
        seen.append((run.environment, run.args["colour"]))
        return Next("second", checkpoint={"first": True}) if "first" not in run.checkpoint else Done()

    journal = shop.journal(paint_kind(steps={"run": step, "second": step}))
    shop.worker(journal)
    id = paint(journal, add_thing(db))
    eventually(lambda: ended(db, id))
    assert seen == [("brush", "red"), ("brush", "red")]


def test_an_exception_fails_the_operation_and_the_worker_goes_on(db: Database, shop: Shop) -> None:
    def step(run: Run) -> Outcome:
        if run.args["colour"] == "bad":
            raise RuntimeError("no such colour")
        return Done()

    journal = shop.journal(paint_kind(step))
    shop.worker(journal)
    bad, good = add_thing(db), add_thing(db)
    failed = paint(journal, bad, "bad")
    paint(journal, good)
    eventually(lambda: status(db, bad) == "error" and status(db, good) == "painted")
    assert operation_of(db, failed).error == "RuntimeError: the service's log tells more"


def test_the_fast_lane_is_free_while_the_other_is_full(db: Database, shop: Shop) -> None:
    gate = threading.Event()

    def slow(_run: Run) -> Outcome:
        gate.wait(LONG)
        return Done()

    quick = Kind(name="thing.look", resource_type="THING", steps={"run": lambda _: Done()}, lane=Lane.FAST)
    journal = shop.journal(paint_kind(slow), quick)
    shop.worker(journal)
    for _ in range(4):
        paint(journal, add_thing(db))
    id = new_id()
    db.write(lambda tx: journal.submit(tx, quick, CONTEXT, NOTHING, id=id, queue="q"))
    eventually(lambda: ended(db, id))
    gate.set()


def test_a_successor_on_the_same_host_takes_over_at_once(db: Database, shop: Shop) -> None:
    """The dead worker's lock file is free: nobody waits for its lease, which here is an hour."""
    journal = shop.journal(paint_kind())
    thing = add_thing(db)
    id = paint(journal, thing)
    dead = shop.worker(journal, start=False, lease=3600)
    assert Claims(journal, dead.life.owner, ["q"]).claim(id) is not None
    dead.life.end()
    shop.worker(journal, lease=3600)
    eventually(lambda: status(db, thing) == "painted")
    assert operation_of(db, id).fences == 1


def test_a_step_that_found_no_database_is_run_again(db: Database, shop: Shop) -> None:
    tries: list[Run] = []

    def paint_it(run: Run) -> Outcome:
        tries.append(run)
        if len(tries) == 1:
            raise DBConnectionError
        return Done()

    journal = shop.journal(paint_kind(paint_it))
    thing = add_thing(db)
    id = paint(journal, thing)
    shop.worker(journal)
    eventually(lambda: status(db, thing) == "painted")
    assert (operation_of(db, id).attempt, operation_of(db, id).fences) == (2, 0)


def test_without_a_renewal_within_the_lease_there_is_no_further_storage_call(db: Database, shop: Shop) -> None:
    journal = shop.journal(paint_kind())
    id = paint(journal, add_thing(db))
    operation = Claims(journal, "here", ["q"]).claim(id)
    assert operation is not None
    run = Run(journal, operation, None, lease=60)
    run.check()
    run.renewed_at -= 61
    with pytest.raises(LeaseLost, match="not renewed"):
        run.check()


@pytest.mark.parametrize("other", ["host", "directory"])
def test_elsewhere_the_beat_must_have_stood_still(db: Database, shop: Shop, tmp_path: Path, other: str) -> None:
    """Elsewhere is another host, and another directory of lock files too: two hosts may have one name."""
    journal = shop.journal(paint_kind())
    thing = add_thing(db)
    id = paint(journal, thing)
    where = {"host": "there", "directory": tmp_path / "elsewhere"}
    elsewhere = shop.worker(journal, start=False, **{other: where[other]})
    assert Claims(journal, elsewhere.life.owner, ["q"]).claim(id) is not None
    watcher, now = shop.worker(journal, start=False, lease=10.0), 0.0
    watcher._watch._clock = lambda: now
    for _ in range(4):
        watcher.sweep()
        Claims(journal, elsewhere.life.owner, []).beat([id])
        now += 9.0
    watcher.sweep()
    now += 9.0
    watcher.sweep()
    assert operation_of(db, id).fences == 0
    now += 1.5
    watcher.sweep()
    assert (operation_of(db, id).fences, operation_of(db, id).state) == (1, State.QUEUED)


def test_what_could_not_be_written_of_an_operation_is_written_once_the_database_is_back(
    db: Database, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = threading.Event()
    journal = shop.journal(paint_kind(), Kind(name="thing.watch", resource_type="THING", steps={"run": _hold(hold)}))
    # Another operation of the same worker keeps on beating meanwhile.
    busy = new_id()
    db.write(lambda tx: journal.submit(tx, journal.kinds["thing.watch"], CONTEXT, NOTHING, id=busy, queue="q"))
    thing = add_thing(db)
    id = paint(journal, thing)
    away: list[str] = []

    def refuse(*_: Any) -> None:
        away.append("database is away")
        raise RuntimeError(away[-1])

    with monkeypatch.context() as patch:
        patch.setattr(journal, "conclude", refuse)
        patch.setattr(journal, "fail", refuse)
        shop.worker(journal, lease=2.0, sweep=0.1)
        eventually(lambda: len(away) >= 2)
    eventually(lambda: status(db, thing) == "painted")
    assert operation_of(db, id).fences >= 1
    assert operation_of(db, busy).attempt == 1
    hold.set()
    eventually(lambda: ended(db, busy))


def _hold(gate: threading.Event) -> Callable[[Run], Outcome]:
    def step(_run: Run) -> Outcome:
        assert gate.wait(LONG)
        return Done()

    return step


def test_a_worker_that_hung_and_comes_back_cannot_finish(db: Database, shop: Shop) -> None:
    hung, gate, abandoned = threading.Event(), threading.Event(), threading.Event()
    runs: list[str] = []

    def step(run: Run) -> Outcome:
        runs.append(run.operation.owner or "")
        if len(runs) == 1:
            hung.set()
            gate.wait(LONG)
            return Done({"colour": "late"})
        return Done({"colour": "right"})

    journal = shop.journal(paint_kind(step, abandon=lambda _: abandoned.set()))
    first = shop.worker(journal, host="there", lease=3600)
    thing = add_thing(db)
    paint(journal, thing)
    assert hung.wait(LONG)
    shop.worker(journal, lease=0.5, sweep=0.1)
    eventually(lambda: status(db, thing) == "painted")
    gate.set()
    assert abandoned.wait(LONG)
    row = thing_of(db, thing)
    assert row is not None
    assert row.colour == "right"
    assert runs[0] == first.life.owner


def test_what_keeps_killing_its_workers_fails_in_the_end(db: Database, shop: Shop) -> None:
    journal = shop.journal(paint_kind(takeovers=2))
    thing = add_thing(db)
    id = paint(journal, thing)
    for _ in range(3):
        dead = shop.worker(journal, start=False)
        running = Claims(journal, dead.life.owner, ["q"]).claim(id)
        assert running is not None
        taken = Claims(journal, dead.life.owner, []).take_over(running)
        assert taken is not None
        Claims(journal, dead.life.owner, []).hand_back(taken)
        dead.life.end()
    shop.worker(journal)
    eventually(lambda: status(db, thing) == "error")
    assert "died again and again" in (operation_of(db, id).error or "")


def test_what_nobody_serves_fails_at_its_deadline(db: Database, shop: Shop) -> None:
    journal = shop.journal(paint_kind())
    thing = add_thing(db)
    id = paint(journal, thing)
    past = utcnow() - datetime.timedelta(seconds=1)
    db.write(
        lambda tx: (
            tx.execute(update(Operation).where(Operation.id == id).values(queue="nobody", deadline=past)) and None
        )
    )
    shop.worker(journal, all_queues=True)
    eventually(lambda: status(db, thing) == "error")
    assert operation_of(db, id).error == TOO_LATE


def test_stopping_hands_back_what_has_not_ended(db: Database, shop: Shop) -> None:
    begun, gate = threading.Event(), threading.Event()

    def step(_run: Run) -> Outcome:
        begun.set()
        gate.wait(LONG)
        return Done()

    journal = shop.journal(paint_kind(step))
    worker = shop.worker(journal)
    thing = add_thing(db)
    id = paint(journal, thing)
    assert begun.wait(LONG)
    worker.stop(grace=0.1)
    shop.workers.remove(worker)
    assert operation_of(db, id).state == State.QUEUED
    gate.set()
    shop.worker(journal)
    eventually(lambda: status(db, thing) == "painted")


def test_leases_are_renewed_while_a_stop_waits(db: Database, shop: Shop) -> None:
    begun, end = threading.Event(), threading.Event()

    def step(run: Run) -> Outcome:
        begun.set()
        end.wait(LONG)
        return Done()

    worker = shop.worker(shop.journal(paint_kind(step)), lease=0.4)
    operation = paint(worker.journal, add_thing(db))
    assert begun.wait(LONG)
    stop = threading.Thread(target=worker.stop, args=(LONG,))
    stop.start()
    assert worker._stopping.wait(LONG)
    before = operation_of(db, operation).beat
    eventually(lambda: operation_of(db, operation).beat > before + 2)
    end.set()
    stop.join(LONG)
    assert operation_of(db, operation).state == State.SUCCEEDED


def test_an_operation_that_cannot_be_ended_keeps_the_sweep_from_no_other(db: Database, shop: Shop) -> None:
    broken = add_thing(db)

    def undo(tx: Any, operation: Operation) -> None:
        if operation.resource_id == broken:
            raise RuntimeError("a bug")

    journal = shop.journal(paint_kind(undo=undo))
    operations = [paint(journal, broken), paint(journal, add_thing(db))]
    db.write(lambda tx: tx.execute(update(Operation).values(deadline=utcnow() - datetime.timedelta(seconds=1))))
    shop.worker(journal, start=False, all_queues=True).sweep()
    assert [operation_of(db, one).state for one in operations] == [State.QUEUED, State.FAILED]


def test_a_waiter_is_told_of_the_end(db: Database, shop: Shop) -> None:
    journal = shop.journal(paint_kind())
    waiter = Waiter(journal)
    shop.worker(journal)
    id = "00000000-0000-0000-0000-000000000001"
    thing = add_thing(db)
    db.write(
        lambda tx: journal.begin(
            tx, journal.kinds["thing.paint"], CONTEXT, id=id, queue="q", resource_id=thing, args={"colour": "red"}
        )
    )
    operation = waiter.wait(id, LONG)
    assert operation is not None
    assert operation.state == State.SUCCEEDED
    assert waiter.wait("never", 0.1) is None


def test_many_operations_on_two_workers_are_each_run_once(db: Database, shop: Shop) -> None:
    lock, runs = threading.Lock(), dict[str, int]()

    def step(run: Run) -> Outcome:
        with lock:
            runs[run.operation.id] = runs.get(run.operation.id, 0) + 1
        return Done()

    journal = shop.journal(paint_kind(step))
    shop.worker(journal)
    shop.worker(journal)
    things = [add_thing(db) for _ in range(30)]
    ids = [paint(journal, thing) for thing in things]
    eventually(lambda: all(ended(db, id) for id in ids))
    assert set(runs.values()) == {1}
    with db.read() as tx:
        assert all(tx.get_one(Thing, thing).status == "painted" for thing in things)
