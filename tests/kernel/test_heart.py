from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from pumice.kernel import services
from pumice.kernel.db.base import Base
from pumice.kernel.db.engine import Database, changed
from pumice.kernel.heart import Heart
from pumice.kernel.services import Cluster, Identity, WorkerService
from tests.support.databases import url_of
from tests.support.waiting import LONG, eventually

IDENTITY = Identity("a@one", "cinder-volume", "volume")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    db = Database(url_of(tmp_path / "db.sqlite"))
    Base.metadata.create_all(db.engine, tables=[WorkerService.__table__, Cluster.__table__])
    yield db
    db.close()


def rows(db: Database) -> list[WorkerService]:
    with db.read() as tx:
        return list(services.find(tx))


def test_it_registers_and_goes_on_beating(db: Database) -> None:
    state = "up"
    heart = Heart(db, IDENTITY, 0.05, lambda: state)
    heart.start()
    assert [row.id for row in rows(db)] == [heart.service_id]
    eventually(lambda: rows(db)[0].report_count >= 3)
    state = "down"
    eventually(lambda: rows(db)[0].backend_state == "down")
    heart.stop()
    count = rows(db)[0].report_count
    time.sleep(0.15)
    assert rows(db)[0].report_count == count


def test_a_removed_row_comes_back(db: Database) -> None:
    heart = Heart(db, IDENTITY, 0.05)
    heart.start()
    db.write(lambda tx: tx.execute(delete(WorkerService)))
    eventually(lambda: len(rows(db)) == 1)
    heart.stop()


def test_up_again_after_an_outage(db: Database, tmp_path: Path) -> None:
    down_time = 2
    heart = Heart(db, IDENTITY, 0.5)
    heart.start()
    with nobody_writes(tmp_path):
        eventually(lambda: not services.is_up(rows(db)[0], down_time))
    eventually(lambda: services.is_up(rows(db)[0], down_time))
    heart.stop()


@contextmanager
def nobody_writes(tmp_path: Path) -> Iterator[None]:
    """The row is locked, and on SQLite the whole database."""
    locked, over = threading.Event(), threading.Event()

    def lock(tx: Session) -> None:
        changed(tx, update(WorkerService).values(topic=WorkerService.topic))
        locked.set()
        over.wait(2 * LONG)

    other = Database(url_of(tmp_path / "db.sqlite"))
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(other.write, lock)
        assert locked.wait(LONG)
        try:
            yield
        finally:
            over.set()
        written.result()
    other.close()


def test_it_survives_a_database_that_is_not_there_yet(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    db = Database(url_of(tmp_path / "db.sqlite"))
    heart = Heart(db, IDENTITY, 10 * LONG)  # what fails is tried again long before
    heart.start()
    assert heart.service_id is None
    eventually(lambda: len(caplog.records) >= 1)
    Base.metadata.create_all(db.engine, tables=[WorkerService.__table__, Cluster.__table__])
    eventually(lambda: len(rows(db)) == 1)
    heart.stop()
    db.close()
    warnings = [
        record for record in caplog.records if record.name == "pumice.kernel.heart" and record.levelname == "WARNING"
    ]
    assert len(warnings) == 1
    assert "cinder-volume" in warnings[0].getMessage()


def test_a_driver_that_cannot_be_asked_ends_no_heart(db: Database) -> None:
    broken = threading.Event()

    def state() -> str:
        if broken.is_set():
            raise RuntimeError("no answer")
        return "up"

    heart = Heart(db, IDENTITY, 0.05, state)
    heart.start()
    broken.set()
    time.sleep(0.2)
    count = rows(db)[0].report_count
    broken.clear()
    eventually(lambda: rows(db)[0].report_count > count)
    heart.stop()
