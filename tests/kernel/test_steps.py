from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, update

from pumice.kernel import steps
from pumice.kernel.backends import Backend
from pumice.kernel.bus import LocalBus
from pumice.kernel.db.engine import Database
from pumice.kernel.drivers import BackendError, NoSpace, ObjectMissing
from pumice.kernel.locks import LockTimeout
from pumice.kernel.messages import Code
from pumice.kernel.moves import FORCE_DELETE, Superseded
from pumice.kernel.operations.claims import Claims
from pumice.kernel.operations.journal import Journal
from pumice.kernel.operations.kinds import Failure, Next, Outcome
from pumice.kernel.operations.ownership import LeaseLost
from pumice.kernel.operations.worker import Run
from tests.kernel.things import Thing, add_thing, database, journal_of, paint, paint_kind


class Detail(Code):
    FULL = "003", "No room."
    FAILED = "012", "It failed."


class Shelf(Backend[Any]):
    """A backend that is ready at once."""

    shown_as, optional, not_started = "shelf_name", {}, Detail.FAILED

    def __init__(self, db: Database) -> None:
        super().__init__("h@shelf", "shelf", object(), db=db, bus=LocalBus(), locks=None)  # type: ignore[arg-type]
        self._trouble = None

    def keep(self, *, first: bool) -> None: ...

    def capabilities(self, stats: Any) -> dict[str, Any]:
        return {}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    made = database(tmp_path)
    yield made
    made.close()


@pytest.fixture
def journal(db: Database) -> Iterator[Journal]:
    made = journal_of(db, paint_kind())
    yield made
    made.bus.close()


def run_of(journal: Journal, thing: str, environment: Any) -> Run:
    operation = Claims(journal, "me", ["q"]).claim(paint(journal, thing))
    assert operation is not None
    return Run(journal, operation, environment)


@pytest.mark.parametrize(
    ("error", "detail", "text"),
    [
        (NoSpace("400 GiB"), Detail.FULL, "no space: 400 GiB"),
        (ObjectMissing("the source"), Detail.FAILED, "missing on the backend: the source"),
        (BackendError("it is broken"), Detail.FAILED, "it is broken"),
    ],
)
def test_what_a_refusal_of_a_backend_means(error: BackendError, detail: Code, text: str) -> None:
    with pytest.raises(Failure) as failed, steps.refused_as(Detail.FAILED, full=Detail.FULL):
        raise error
    assert (failed.value.detail, failed.value.text, failed.value.__cause__) == (detail, text, error)


def test_other_errors_are_not_refusals() -> None:
    with pytest.raises(KeyError), steps.refused_as(Detail.FAILED, full=Detail.FULL):
        raise KeyError("a bug")


def test_what_cannot_be_removed_fails_nothing(db: Database, journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    def refuse() -> None:
        raise BackendError("it is in use")

    steps.leave_nothing(run_of(journal, add_thing(db), None), "thing 1", refuse)
    assert "thing 1 could not be removed" in caplog.text


def test_what_a_successor_may_have_made_is_not_removed(db: Database, journal: Journal) -> None:
    removed: list[str] = []
    run = run_of(journal, add_thing(db), None)
    run.lost.set()
    with pytest.raises(LeaseLost):
        steps.leave_nothing(run, "thing 1", lambda: removed.append("thing 1"))
    assert removed == []


def test_a_row_is_read_anew(db: Database, journal: Journal) -> None:
    thing, other = add_thing(db), add_thing(db)
    run = run_of(journal, thing, None)
    assert (steps.row_of(run, Thing).id, steps.row_of(run, Thing, other).id) == (thing, other)
    with pytest.raises(Superseded, match="Thing gone is gone"):
        steps.row_of(run, Thing, "gone")


def test_a_create_that_a_deletion_took_away_leaves_nothing(db: Database, journal: Journal) -> None:
    removed: list[str] = []
    abandon = steps.abandoned(Thing, lambda _driver, run: removed.append(run.operation.resource_id))
    thing = add_thing(db)
    run = run_of(journal, thing, Shelf(db))
    abandon(run)
    assert removed == []  # somebody else goes on with it

    of_thing = Thing.id == thing
    db.write(lambda tx: tx.execute(update(Thing).where(of_thing).values(status=FORCE_DELETE.via)))
    abandon(run)
    db.write(lambda tx: tx.execute(delete(Thing).where(of_thing)))
    abandon(run)
    assert removed == [thing, thing]
    abandon(run_of(journal, add_thing(db), "a scheduler's"))
    assert removed == [thing, thing]


def test_a_step_whose_lock_is_held_is_left_for_later_and_not_in_step_with_its_holder(
    db: Database, journal: Journal
) -> None:
    class Held(Shelf):
        def exclusive(self, name: str, patience: float) -> AbstractContextManager[None]:
            assert (name, patience) == ("thing-1", steps.PATIENCE)
            raise LockTimeout(name)

    def step(_: Run) -> Outcome:
        raise AssertionError("it ran without its lock")

    run = run_of(journal, add_thing(db), Held(db))
    outcomes = [steps.alone(lambda _: "thing-1")(step)(run) for _ in range(20)]
    delays = {outcome.delay for outcome in outcomes if isinstance(outcome, Next) and outcome.step == "run"}
    assert len(delays) == len(outcomes)
    assert min(delays) >= steps.PAUSE[0]
    assert max(delays) <= steps.PAUSE[1]
