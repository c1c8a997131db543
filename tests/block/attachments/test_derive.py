"""What attachments say of their volume."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pumice.block.attachments.derive import FOLLOWING, derive
from pumice.block.attachments.model import Attachment
from pumice.block.volumes.model import Volume
from pumice.block.volumes.moves import STATUSES
from pumice.kernel.db import migrations
from pumice.kernel.db.base import new_id
from pumice.kernel.db.engine import Database
from tests.support.databases import url_of

VOLUME = new_id()


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = Database(url_of(tmp_path / "block.sqlite"))
    migrations.upgrade(database, "block")
    yield database
    database.close()


def add(db: Database, *words: str, status: str = "available", **values: object) -> list[str]:
    """A volume with attachments in these states; `ending` is one that an operation is about to remove."""
    ids = [new_id() for _ in words]
    volume = Volume(id=VOLUME, project_id="p", status=status, size=1, **values)
    rows = [
        Attachment(
            id=id,
            project_id="p",
            volume_id=VOLUME,
            status="attached" if word == "ending" else word,
            ending=word in ("ending", "error_detaching"),
            operation_id=new_id() if word == "ending" else None,
        )
        for id, word in zip(ids, words, strict=True)
    ]
    db.write(lambda tx: tx.add(volume))
    db.write(lambda tx: tx.add_all(rows))
    return ids


def seen(db: Database) -> Volume:
    with db.read() as tx:
        return tx.get_one(Volume, VOLUME)


@pytest.mark.parametrize(
    ("words", "status", "attach_status"),
    [
        ([], "available", "detached"),
        (["detached"], "available", "detached"),
        (["reserved"], "reserved", "reserved"),
        (["attaching"], "attaching", "attaching"),
        (["attached"], "in-use", "attached"),
        (["ending"], "detaching", "attached"),
        (["error_attaching"], "reserved", "error_attaching"),
        (["error_detaching"], "in-use", "error_detaching"),
        (["reserved", "attached"], "in-use", "attached"),
        (["reserved", "attaching"], "attaching", "attaching"),
        (["attaching", "ending"], "attaching", "attaching"),
        (["ending", "attached"], "in-use", "attached"),
        (["ending", "reserved"], "detaching", "attached"),
        (["error_attaching", "reserved"], "reserved", "reserved"),
    ],
)
def test_the_first_of_the_ranks_decides(db: Database, words: list[str], status: str, attach_status: str) -> None:
    add(db, *words)
    db.write(lambda tx: derive(tx, VOLUME))
    assert (seen(db).status, seen(db).attach_status) == (status, attach_status)


def test_what_is_about_to_change(db: Database) -> None:
    one, two = add(db, "attached", "reserved")
    db.write(lambda tx: derive(tx, VOLUME, {one: None}))
    assert seen(db).status == "reserved"
    db.write(lambda tx: derive(tx, VOLUME, {one: "error_detaching", two: None}))
    assert seen(db).status == "in-use"
    db.write(lambda tx: derive(tx, VOLUME, {one: None, two: None}))
    assert seen(db).status == "available"


def test_a_moving_volume_goes_back_to_it(db: Database) -> None:
    add(db, status="extending", previous_status="in-use", operation_id=new_id(), attach_status="attached")
    db.write(lambda tx: derive(tx, VOLUME))
    assert (seen(db).status, seen(db).previous_status) == ("extending", "available")
    assert seen(db).attach_status == "detached"


@pytest.mark.parametrize("status", sorted(STATUSES - FOLLOWING))
def test_parked_volumes_stay(db: Database, status: str) -> None:
    add(db, "attached", status=status)
    db.write(lambda tx: derive(tx, VOLUME))
    assert (seen(db).status, seen(db).attach_status) == (status, "attached")


def test_the_mode_of_the_last_one_is_forgotten(db: Database) -> None:
    (id,) = add(db, "attached", admin_meta={"attached_mode": "ro", "readonly": "True"})
    db.write(lambda tx: derive(tx, VOLUME))
    assert seen(db).admin_meta == {"attached_mode": "ro", "readonly": "True"}
    db.write(lambda tx: derive(tx, VOLUME, {id: None}))
    assert seen(db).admin_meta == {"readonly": "True"}


def test_every_change_is_a_new_version(db: Database) -> None:
    add(db)
    before = seen(db).version
    db.write(lambda tx: derive(tx, VOLUME))
    assert seen(db).version == before + 1


def test_a_volume_that_is_gone(db: Database) -> None:
    db.write(lambda tx: derive(tx, VOLUME))
