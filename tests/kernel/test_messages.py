from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest

from pumice.kernel.db.base import Base
from pumice.kernel.db.engine import Database
from pumice.kernel.db.scope import everything, own
from pumice.kernel.errors import NotFound
from pumice.kernel.messages import TTL, Cause, Code, Message, Messages, user_message
from tests.support.databases import url_of


class Action(Code):
    SCHEDULE = "001", "Choosing a backend for the volume"


class Detail(Code):
    NO_BACKEND = "003", "No backend could take the request."


VOLUME_ID = "6b8f2b8e-0d0e-4d5e-9f39-f1d7a0a1b0c1"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    db = Database(url_of(tmp_path / "db.sqlite"))
    Base.metadata.create_all(db.engine, tables=[Message.__table__])
    yield db
    db.close()


def recorded(db: Database, project: str = "p", ttl: int = TTL) -> Message:
    return db.write(
        lambda tx: Messages("VOLUME", ttl).record(
            tx,
            project_id=project,
            request_id="req-1",
            resource_type="VOLUME",
            resource_id=VOLUME_ID,
            action=Action.SCHEDULE,
            detail=Detail.NO_BACKEND,
        )
    )


def test_a_message_tells_what_and_why(db: Database) -> None:
    message_id = recorded(db).id
    with db.read() as tx:
        row = own("p").get(tx, Message, message_id)
    assert row.event_id == "VOLUME_VOLUME_001_003"
    assert (row.message_level, row.request_id) == ("ERROR", "req-1")
    assert (row.resource_type, row.resource_uuid) == ("VOLUME", VOLUME_ID)
    assert row.expires_at - row.created_at == pytest.approx(
        datetime.timedelta(days=30), abs=datetime.timedelta(seconds=5)
    )
    assert (
        user_message(row, Action, Detail, ":") == "Choosing a backend for the volume:No backend could take the request."
    )


def test_a_stranger_sees_none(db: Database) -> None:
    message_id = recorded(db).id
    with db.read() as tx:
        assert tx.scalars(own("q").select(Message)).all() == []
        assert len(tx.scalars(everything().select(Message)).all()) == 1
        with pytest.raises(NotFound, match=f"Message {message_id}"):
            own("q").get(tx, Message, message_id)


def test_another_service_says_so_in_the_event(db: Database) -> None:
    row = db.write(
        lambda tx: Messages("SHARE").record(
            tx,
            project_id="p",
            request_id=None,
            resource_type="SHARE",
            resource_id=VOLUME_ID,
            action=Action.SCHEDULE,
            detail=Cause.UNKNOWN,
        )
    )
    assert row.event_id == "SHARE_SHARE_001_001"
    text = user_message(row, Action, Cause, ": ")
    assert text == "Choosing a backend for the volume: The cause is not known."


def test_codes_of_another_release_still_give_a_text() -> None:
    row = Message(action_id="999", detail_id="998")
    assert user_message(row, Action, Detail, ":") == "An action:The cause is not known."
