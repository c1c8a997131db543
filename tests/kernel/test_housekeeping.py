from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select, update

from pumice.kernel import housekeeping
from pumice.kernel.answered import Answered
from pumice.kernel.config import load
from pumice.kernel.db.base import utcnow
from pumice.kernel.db.engine import Database
from pumice.kernel.housekeeping import Housekeeping
from pumice.kernel.messages import Cause, Message, Messages
from pumice.kernel.operations.claims import Claims
from pumice.kernel.operations.kinds import Done
from pumice.kernel.operations.model import Operation
from tests.kernel.things import PROJECT, add_thing, database, journal_of, paint, paint_kind


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    made = database(tmp_path)
    yield made
    made.close()


@pytest.fixture
def keeper(db: Database, monkeypatch: pytest.MonkeyPatch) -> Housekeeping:
    monkeypatch.setattr(housekeeping, "BATCH", 2)
    options = {"DEFAULT": {"idempotency_key_retention": 60}, "operations": {"retention": 3600}}
    return Housekeeping(db, load("block", (), options))


def test_expired_messages_go_however_many_batches_they_are(db: Database, keeper: Housekeeping) -> None:
    def record(ttl: int) -> str:
        row = db.write(
            lambda tx: Messages("THING", ttl).record(
                tx,
                project_id=PROJECT,
                request_id=None,
                resource_type="THING",
                resource_id="t",
                action=Cause.UNKNOWN,
                detail=Cause.UNKNOWN,
            )
        )
        return row.id

    for _ in range(5):
        record(-1)
    kept = record(1000)
    keeper.clean()
    with db.read() as tx:
        assert tx.scalars(select(Message.id)).all() == [kept]


def test_operations_go_when_they_ended_long_ago(db: Database, keeper: Housekeeping) -> None:
    journal = journal_of(db, paint_kind())
    old, new, running = (paint(journal, add_thing(db)) for _ in range(3))
    for id in (old, new):
        claimed = Claims(journal, "me", ["q"]).claim(id)
        assert claimed is not None
        journal.conclude(claimed, Done())
    long_ago = utcnow() - datetime.timedelta(hours=2)
    db.write(lambda tx: tx.execute(update(Operation).where(Operation.id == old).values(finished_at=long_ago)))
    keeper.clean()
    with db.read() as tx:
        assert set(tx.scalars(select(Operation.id))) == {new, running}
    journal.bus.close()


def test_answers_go_when_their_requests_are_not_repeated_any_more(db: Database, keeper: Housekeeping) -> None:
    def answered(name: str, seconds: int) -> Answered:
        asked = utcnow() - datetime.timedelta(seconds=seconds)
        hashes = {"key_hash": name, "request_hash": name}
        return Answered(**hashes, id=name, project_id=PROJECT, answer={}, headers={}, created_at=asked)

    db.write(lambda tx: tx.add_all([answered("new", 5), *(answered(f"old {n}", 90) for n in range(3))]))
    keeper.clean()
    with db.read() as tx:
        assert tx.scalars(select(Answered.id)).all() == ["new"]
