from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oslo_db import exception as db_errors
from sqlalchemy import create_engine, func, select, text
from sqlalchemy.orm import Session

from pumice.kernel.db.base import new_id
from pumice.kernel.db.engine import Database, after_commit, proven_by
from tests.kernel.things import PROJECT, Thing, add_thing, database
from tests.support.waiting import LONG


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    made = database(tmp_path)
    yield made
    made.close()


def test_errors_do_not_tell_values(db: Database) -> None:
    thing = add_thing(db)
    with pytest.raises(db_errors.DBDuplicateEntry) as caught:
        add_thing(db, id=thing, colour="hush")
    assert "things" in str(caught.value)
    assert "hush" not in str(caught.value)


def test_a_failed_transaction_leaves_nothing_and_holds_up_nobody(db: Database) -> None:
    def fail(tx: object) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        db.write(fail)
    writer = threading.Thread(target=add_thing, args=(db,))
    writer.start()
    writer.join(LONG)
    assert not writer.is_alive()


def test_a_snapshot_does_not_see_what_is_committed_after_its_first_query(db: Database) -> None:
    add_thing(db)
    count = select(func.count()).select_from(Thing)
    with db.read(snapshot=True) as tx:
        assert tx.scalar(count) == 1
        add_thing(db)
        assert tx.scalar(count) == 1
    with db.read() as tx:
        assert tx.scalar(count) == 2


def test_connections_that_the_server_has_closed_are_not_used(db: Database) -> None:
    count = select(func.count()).select_from(Thing)
    for expected in (1, 2):
        add_thing(db)
        with db.read() as tx:
            assert tx.scalar(count) == expected
        _close_all(db)


def _close_all(db: Database) -> None:
    """Have the server close the connections that rest in the pools; SQLite has no server."""
    listed = {
        "mysql": "SELECT concat('KILL ', id) FROM information_schema.processlist"
        " WHERE db = database() AND id <> connection_id()",
        "postgresql": "SELECT concat('SELECT pg_terminate_backend(', pid, ')') FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    }
    engine = create_engine(db.url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in connection.scalars(text(listed.get(db.url.get_backend_name(), "SELECT 1 WHERE 0"))).all():
            connection.execute(text(statement))
    engine.dispose()


def test_a_transaction_whose_connection_is_lost_in_the_middle_is_run_again(db: Database) -> None:
    attempts: list[str] = []

    def work(tx: Session) -> None:
        attempts.append(new_id())
        tx.add(Thing(id=attempts[-1], project_id="p", status="plain"))
        tx.flush()
        if len(attempts) == 1:
            _close_all(db)
            tx.execute(select(1))

    db.write(work)
    with db.read() as tx:
        assert tx.scalars(select(Thing.id)).all() == attempts[-1:]


def test_errors_do_not_tell_the_row_that_is_refused(db: Database) -> None:
    with pytest.raises(db_errors.DBError) as caught:
        add_thing(db, colour="hush", project_id=None)
    assert "hush" not in str(caught.value)
    assert "hush" not in str(caught.value.__cause__)


@pytest.mark.parametrize("by_galera", [True, False])
@pytest.mark.parametrize("written", [True, False])
def test_a_commit_whose_answer_is_lost_is_done_once(
    db: Database, monkeypatch: pytest.MonkeyPatch, written: bool, by_galera: bool
) -> None:
    runs: list[str] = []
    told: list[str] = []
    commit = db.engine.dialect.do_commit

    def lost(connection: Any) -> None:
        monkeypatch.undo()
        if written:
            commit(connection)
        else:
            connection.rollback()
        if by_galera:
            raise db.engine.dialect.loaded_dbapi.OperationalError(1180, "Not connected to Primary Component")
        raise db_errors.DBConnectionError

    def work(tx: Session) -> str:
        runs.append("ran")
        tx.add(Thing(id="t", project_id=PROJECT, status="plain"))
        after_commit(tx, lambda: told.append("told"))
        proven_by(tx, lambda again: again.get(Thing, "t") is not None)
        return "made"

    monkeypatch.setattr(db.engine.dialect, "do_commit", lost)
    assert db.write(work) == "made"
    assert len(runs) == (1 if written else 2)
    assert told == ["told"]


def test_a_question_whose_connection_is_lost_is_asked_again(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    thing = add_thing(db)
    execute = Session.scalars
    left = 2

    def lost(self: Session, *args: Any, **more: Any) -> Any:
        nonlocal left
        left -= 1
        if left >= 0:
            raise db_errors.DBConnectionError
        return execute(self, *args, **more)

    with db.read() as tx:
        row = tx.get_one(Thing, thing)
        monkeypatch.setattr(Session, "scalars", lost)
        assert tx.scalars(select(Thing.id)).all() == [thing]
    assert row.id == thing
