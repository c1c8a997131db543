from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from pumice.kernel.db.base import new_id, utcnow
from pumice.kernel.db.engine import Database, changed
from pumice.kernel.errors import BadRequest
from pumice.kernel.messages import Code, Message
from pumice.kernel.operations.claims import Claims
from pumice.kernel.operations.journal import Journal
from pumice.kernel.operations.kinds import Done, Failure, Kind, Next, Wait
from pumice.kernel.operations.model import Hold, Operation, State
from pumice.kernel.operations.ownership import LeaseLost
from pumice.kernel.operations.worker import Run
from tests.kernel.things import (
    CONTEXT,
    FORCE,
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


class Codes(Code):
    PAINT = "008", "Painting"
    BROKEN = "012", "The brush broke."


ME, OTHER = "here:me", "there:other"


def force_kind() -> Kind:
    return Kind(name="thing.force", resource_type="THING", model=Thing, move=FORCE, steps={"run": lambda _: Done()})


def undo_parts(tx: Any, operation: Operation) -> None:
    tx.execute(update(Thing).where(Thing.id == operation.resource_id).values(parts=Thing.parts - 1))


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    made = database(tmp_path)
    yield made
    made.close()


@pytest.fixture
def journal(db: Database) -> Iterator[Journal]:
    made = journal_of(db, paint_kind(undo=undo_parts, action=Codes.PAINT), force_kind())
    yield made
    made.bus.close()


def messages(db: Database) -> list[Message]:
    with db.read() as tx:
        return list(tx.scalars(select(Message)))


def holds(db: Database) -> int:
    with db.read() as tx:
        return tx.scalar(select(func.count()).select_from(Hold)) or 0


def test_a_refused_move_leaves_no_operation(db: Database, journal: Journal) -> None:
    thing = add_thing(db, status="broken")
    with pytest.raises(BadRequest):
        paint(journal, thing)
    with db.read() as tx:
        assert tx.scalar(select(func.count()).select_from(Operation)) == 0


def test_an_operation_belongs_to_the_project_and_request_that_asked(db: Database, journal: Journal) -> None:
    operation = operation_of(db, paint(journal, add_thing(db)))
    assert (operation.project_id, operation.user_id, operation.request_id) == (CONTEXT.project_id, "u", "req-1")
    assert (operation.state, operation.kind, operation.args) == (State.QUEUED, "thing.paint", {"colour": "red"})


def test_one_of_two_claims_it(db: Database, journal: Journal) -> None:
    id = paint(journal, add_thing(db))
    claimed = Claims(journal, ME, ["q"]).claim(id)
    assert claimed is not None
    assert (claimed.owner, claimed.attempt, claimed.state) == (ME, 1, State.RUNNING)
    assert Claims(journal, OTHER, ["q"]).claim(id) is None


def test_an_operation_that_has_gone_on_to_another_queue_is_not_claimed(db: Database, journal: Journal) -> None:
    claimed = Claims(journal, ME, ["q"]).claim(paint(journal, add_thing(db)))
    assert claimed is not None
    journal.conclude(claimed, Next("dry", queue="rack"))
    assert Claims(journal, ME, ["q"]).claim(claimed.id) is None
    assert Claims(journal, OTHER, ["rack"]).claim(claimed.id) is not None


def test_an_operation_of_an_unknown_kind_is_left_to_who_knows_it(db: Database, journal: Journal) -> None:
    id = paint(journal, add_thing(db))
    stranger = journal_of(db, force_kind())
    assert Claims(stranger, OTHER, ["q"]).claim(id) is None
    stranger.bus.close()


def test_done_ends_the_move_and_the_operation_together(db: Database, journal: Journal) -> None:
    thing = add_thing(db)
    id = paint(journal, thing, holds=["source"])
    claimed = Claims(journal, ME, ["q"]).claim(id)
    assert claimed is not None
    assert holds(db) == 1
    journal.conclude(claimed, Done({"colour": "red"}))
    row, operation = thing_of(db, thing), operation_of(db, id)
    assert row is not None
    assert (row.status, row.colour, row.operation_id) == ("painted", "red", None)
    assert (operation.state, operation.progress) == (State.SUCCEEDED, 100.0)
    assert operation.finished_at is not None
    assert holds(db) == 0


def test_a_failure_undoes_charges_sets_the_status_and_tells_the_user(db: Database, journal: Journal) -> None:
    thing = add_thing(db, parts=1)
    claimed = Claims(journal, ME, ["q"]).claim(paint(journal, thing))
    assert claimed is not None
    journal.fail(claimed, Failure("the brush broke", detail=Codes.BROKEN))
    row, operation = thing_of(db, thing), operation_of(db, claimed.id)
    assert row is not None
    assert (row.status, row.parts, row.operation_id) == ("error", 0, None)
    assert (operation.state, operation.error) == (State.FAILED, "the brush broke")
    (message,) = messages(db)
    assert (message.project_id, message.resource_uuid, message.request_id) == (CONTEXT.project_id, thing, "req-1")
    assert message.event_id == "THING_THING_008_012"


def test_next_goes_to_another_queue_with_its_checkpoint(db: Database, journal: Journal) -> None:
    thing = add_thing(db)
    claimed = Claims(journal, ME, ["q"]).claim(paint(journal, thing))
    assert claimed is not None
    journal.conclude(claimed, Next("dry", queue="rack", values={"colour": "wet"}, checkpoint={"tried": 1}))
    operation = operation_of(db, claimed.id)
    assert (operation.state, operation.step, operation.queue, operation.owner) == (State.QUEUED, "dry", "rack", None)
    assert operation.checkpoint == {"tried": 1}
    row = thing_of(db, thing)
    assert row is not None
    assert (row.colour, row.status) == ("wet", "painting")


def test_what_also_refuses_leaves_everything_as_it_was(db: Database, journal: Journal) -> None:
    claimed = Claims(journal, ME, ["q"]).claim(paint(journal, add_thing(db)))
    assert claimed is not None

    def also(_tx: Any) -> None:
        raise Failure("no room")

    with pytest.raises(Failure):
        journal.conclude(claimed, Next("dry", queue="rack", also=also))
    operation = operation_of(db, claimed.id)
    assert (operation.state, operation.queue) == (State.RUNNING, "q")


def test_an_operation_put_back_while_the_databases_clock_was_wrong_does_not_wait_for_its_time(
    db: Database, journal: Journal
) -> None:
    claimed = Claims(journal, ME, ["q"]).claim(paint(journal, add_thing(db)))
    assert claimed is not None
    journal.conclude(claimed, Next("run", delay=1))
    misdated = update(Operation).values(not_before=utcnow() + datetime.timedelta(hours=1))
    db.write(lambda tx: changed(tx, misdated))
    assert Claims(journal, ME, ["q"]).claim(claimed.id) is not None


@pytest.mark.parametrize("hours", [-30, 30])
def test_a_process_whose_clock_is_wrong_changes_no_time_that_counts(
    db: Database, journal: Journal, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    monkeypatch.setattr("pumice.kernel.operations.journal.utcnow", lambda: utcnow() + datetime.timedelta(hours=hours))
    claimed = Claims(journal, ME, ["q"]).claim(paint(journal, add_thing(db)))
    assert claimed is not None
    journal.conclude(claimed, Next("dry", delay=50))
    assert Claims(journal, ME, ["q"]).claim(claimed.id) is None


def test_a_delayed_operation_is_not_claimed_before_its_time(db: Database, journal: Journal) -> None:
    claimed = Claims(journal, ME, ["q"]).claim(paint(journal, add_thing(db)))
    assert claimed is not None
    journal.conclude(claimed, Next("run", delay=60))
    assert Claims(journal, ME, ["q"]).claim(claimed.id) is None


def test_who_was_taken_over_can_neither_finish_nor_fail(db: Database, journal: Journal) -> None:
    thing = add_thing(db)
    first = Claims(journal, ME, ["q"]).claim(paint(journal, thing))
    assert first is not None
    second = Claims(journal, OTHER, []).take_over(first)
    assert second is not None
    assert (second.attempt, second.fences) == (2, 1)
    for late in (
        lambda: journal.conclude(first, Done()),
        lambda: journal.fail(first, Failure("late")),
        lambda: Run(journal, first, None).progress(50),
        lambda: Run(journal, first, None).expect("dry"),
    ):
        with pytest.raises(LeaseLost):
            late()
    assert operation_of(db, first.id).state == State.RUNNING
    journal.conclude(second, Done({"colour": "blue"}))
    row = thing_of(db, thing)
    assert row is not None
    assert row.status == "painted"


def test_a_beat_keeps_others_from_taking_over(db: Database, journal: Journal) -> None:
    seen = Claims(journal, ME, ["q"]).claim(paint(journal, add_thing(db)))
    assert seen is not None
    assert Claims(journal, ME, []).beat([seen.id]) == {(seen.id, 1)}
    assert Claims(journal, OTHER, []).take_over(seen) is None


def test_a_forced_move_takes_the_row_away_and_undoes_what_was_charged(db: Database, journal: Journal) -> None:
    thing = add_thing(db, parts=1)
    first = Claims(journal, ME, ["q"]).claim(paint(journal, thing))
    assert first is not None
    second = paint(journal, thing, kind="thing.force")
    row = thing_of(db, thing)
    assert row is not None
    assert (row.status, row.operation_id, row.parts) == ("removing", second, 0)
    assert operation_of(db, first.id).state == State.CANCELLED
    with pytest.raises(LeaseLost):
        journal.conclude(first, Done({"colour": "late"}))
    claimed = Claims(journal, OTHER, ["q"]).claim(second)
    assert claimed is not None
    journal.conclude(claimed, Done())
    assert thing_of(db, thing) is None


def test_an_operation_whose_resource_went_to_another_ends_without_effect(db: Database, journal: Journal) -> None:
    thing = add_thing(db)
    claimed = Claims(journal, ME, ["q"]).claim(paint(journal, thing))
    assert claimed is not None
    db.write(lambda tx: changed(tx, update(Thing).where(Thing.id == thing).values(operation_id="else")))
    with pytest.raises(LeaseLost):
        journal.conclude(claimed, Done({"colour": "late"}))
    assert operation_of(db, claimed.id).state == State.CANCELLED
    row = thing_of(db, thing)
    assert row is not None
    assert (row.colour, row.status) == (None, "painting")


def test_a_signal_wakes_who_waits_for_it(db: Database, journal: Journal) -> None:
    claimed = Claims(journal, ME, ["q"]).claim(paint(journal, add_thing(db)))
    assert claimed is not None
    journal.conclude(claimed, Wait("dry", step="pick_up", timeout=60))
    assert Claims(journal, ME, ["q"]).claim(claimed.id) is None
    assert not db.write(lambda tx: journal.signal(tx, claimed.id, "another", {}))
    assert db.write(lambda tx: journal.signal(tx, claimed.id, "dry", {"hours": 3}))
    again = Claims(journal, ME, ["q"]).claim(claimed.id)
    assert again is not None
    assert (again.step, again.checkpoint) == ("pick_up", {"dry": {"hours": 3}})


def test_a_signal_that_comes_before_the_wait_is_kept(db: Database, journal: Journal) -> None:
    claimed = Claims(journal, ME, ["q"]).claim(paint(journal, add_thing(db)))
    assert claimed is not None
    Run(journal, claimed, None).expect("dry")
    assert not db.write(lambda tx: journal.signal(tx, claimed.id, "wet", {}))
    assert db.write(lambda tx: journal.signal(tx, claimed.id, "dry", {"hours": 1}))
    journal.conclude(claimed, Wait("dry", step="pick_up", timeout=60))
    again = Claims(journal, ME, ["q"]).claim(claimed.id)
    assert again is not None
    assert (again.step, again.checkpoint) == ("pick_up", {"dry": {"hours": 1}})


def test_a_wait_ends_with_its_time(db: Database, journal: Journal) -> None:
    claimed = Claims(journal, ME, ["q"]).claim(paint(journal, add_thing(db)))
    assert claimed is not None
    journal.conclude(claimed, Wait("dry", step="pick_up", timeout=-1))
    again = Claims(journal, ME, ["q"]).claim(claimed.id)
    assert again is not None
    assert "dry" not in again.checkpoint


def test_what_is_past_its_deadline_fails_with_a_message(db: Database, journal: Journal) -> None:
    thing = add_thing(db, parts=1)
    operation = operation_of(db, paint(journal, thing))
    journal.expire(operation, "too late")
    row = thing_of(db, thing)
    assert row is not None
    assert (row.status, row.parts) == ("error", 0)
    assert operation_of(db, operation.id).error == "too late"
    assert len(messages(db)) == 1
    journal.expire(operation, "again")
    assert len(messages(db)) == 1


def test_what_came_since_the_look_is_known_to_the_undo(db: Database) -> None:
    undone: list[dict[str, Any]] = []
    journal = journal_of(db, paint_kind(undo=lambda _, operation: undone.append(operation.checkpoint)))
    claimed = Claims(journal, ME, ["q"]).claim(paint(journal, add_thing(db)))
    assert claimed is not None
    seen = operation_of(db, claimed.id)
    Run(journal, claimed, None).expect("dry")
    assert db.write(lambda tx: journal.signal(tx, claimed.id, "dry", {"hours": 3}))
    journal.expire(seen, "too late")
    assert undone == [{"dry": {"hours": 3}}]
    journal.bus.close()


def test_handing_back_makes_it_free_for_others(db: Database, journal: Journal) -> None:
    claimed = Claims(journal, ME, ["q"]).claim(paint(journal, add_thing(db)))
    assert claimed is not None
    Claims(journal, ME, []).hand_back(claimed)
    assert Claims(journal, OTHER, ["q"]).claim(claimed.id) is not None


def test_a_deadline_counts_from_acceptance(db: Database, journal: Journal) -> None:
    operation = operation_of(db, paint(journal, add_thing(db)))
    day = datetime.timedelta(days=1)
    assert abs(operation.deadline - utcnow() - day) < datetime.timedelta(minutes=1)


def test_submitting_twice_under_one_id_is_refused_by_the_database(db: Database, journal: Journal) -> None:
    id = new_id()

    def submit(tx: Any) -> None:
        journal.submit(tx, journal.kinds["thing.paint"], CONTEXT, NOTHING, id=id, queue="q")

    db.write(submit)
    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        db.write(submit)
