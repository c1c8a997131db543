"""What a backend cannot do is refused: at once where it has told so, else by its worker, and nothing gets stuck."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pumice.block.snapshots.model import Snapshot
from pumice.block.volumes.model import Volume
from pumice.kernel.db.base import new_id
from pumice.kernel.db.scope import everything
from tests.support.blockservice import Block


def block_of(directory: Path, driver: str) -> Block:
    return Block(directory, {"plain": {"volume_driver": f"tests.support.plaindriver:{driver}"}})


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Block]:
    with block_of(tmp_path, "PlainDriver") as block:
        yield block


@pytest.fixture
def boasting(tmp_path: Path) -> Iterator[Block]:
    with block_of(tmp_path, "BoastingDriver") as block:
        yield block


def add_snapshot(block: Block, volume_id: str) -> str:
    """A snapshot whose rows are there, as they are when a driver has been replaced by one that can do less."""

    def work(tx: Any) -> str:
        volume = everything().get(tx, Volume, volume_id)
        snapshot = Snapshot(
            id=new_id(),
            project_id=volume.project_id,
            user_id=volume.user_id,
            volume_id=volume_id,
            status="available",
            size=volume.size,
            charged_gb=0,
            consumes_quota=False,
            progress="100%",
            meta={},
        )
        tx.add(snapshot)
        return snapshot.id

    return block.service.db.write(work)


def details(block: Block) -> dict[str, str]:
    """Resource -> the code of why it failed."""
    found = block.call("GET", "/messages").json["messages"]
    return {one["resource_uuid"]: one["event_id"].rpartition("_")[2] for one in found}


def accepted(answer: Any) -> str:
    assert answer.status_code == 202, answer.text
    ((_, thing),) = answer.json.items()
    return str(thing["id"])


def test_what_the_pool_has_told_is_refused_at_once(plain: Block) -> None:
    volume = plain.volume()
    snapshot = add_snapshot(plain, volume)
    for path, body, words in (
        ("/snapshots", {"snapshot": {"volume_id": volume}}, "cannot take snapshots"),
        ("/volumes", {"volume": {"source_volid": volume}}, "cannot clone volumes"),
        ("/volumes", {"volume": {"snapshot_id": snapshot}}, "cannot make volumes of snapshots"),
        (f"/volumes/{volume}/action", {"revert": {"snapshot_id": snapshot}}, "cannot revert volumes"),
    ):
        answer = plain.call("POST", path, body)
        assert answer.status_code == 400, answer.text
        assert words in answer.json["badRequest"]["message"]
    for path in (f"/snapshots/{snapshot}", f"/volumes/{volume}"):
        assert plain.rest(path) == "available"
    assert plain.call("GET", "/operations?kind=volume.revert").json["operations"] == []


def test_what_only_the_worker_knows_fails_cleanly(boasting: Block, caplog: pytest.LogCaptureFixture) -> None:
    volume = boasting.volume()
    snapshot = add_snapshot(boasting, volume)
    with caplog.at_level(logging.ERROR):
        clone = accepted(boasting.call("POST", "/volumes", {"volume": {"source_volid": volume}}))
        copy = accepted(boasting.call("POST", "/volumes", {"volume": {"snapshot_id": snapshot}}))
        other = boasting.volume()
        refused = accepted(boasting.call("POST", "/snapshots", {"snapshot": {"volume_id": other}}))
        for path in (f"/volumes/{clone}", f"/volumes/{copy}", f"/snapshots/{refused}"):
            assert boasting.rest(path) == "error"
        answer = boasting.call("POST", f"/volumes/{volume}/action", {"revert": {"snapshot_id": snapshot}})
        assert answer.status_code == 202
        assert boasting.rest(f"/volumes/{volume}") == "available"
    assert not [record for record in caplog.records if record.exc_info]
    told = {
        one["kind"]: one["error"]
        for one in boasting.call("GET", "/operations?state=failed", who="admin_a").json["operations"]
    }
    assert told["volume.revert"] == "backend here@plain cannot revert volumes"
    assert told["snapshot.create"] == "backend here@plain cannot take snapshots"
    assert boasting.rest(f"/snapshots/{snapshot}") == "available"
    assert details(boasting) == {clone: "012", copy: "012", refused: "013"}


def test_what_has_failed_can_be_deleted(boasting: Block) -> None:
    volume = boasting.volume()
    along, alone = (accepted(boasting.call("POST", "/snapshots", {"snapshot": {"volume_id": volume}})) for _ in "ab")
    for one in (along, alone):
        assert boasting.rest(f"/snapshots/{one}") == "error"
    assert boasting.call("DELETE", f"/snapshots/{alone}").status_code == 202
    assert boasting.rest(f"/snapshots/{alone}") == "gone"
    assert boasting.call("DELETE", f"/volumes/{volume}?cascade=true").status_code == 202
    assert boasting.rest(f"/volumes/{volume}") == "gone"
    assert boasting.all_wrong() == []
