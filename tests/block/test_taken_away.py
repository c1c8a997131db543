"""Administrators who step into the middle of an operation: what is left at rest, and on the backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pumice.block.drivers.base import SnapshotRef, VolumeRef
from tests.support.blockservice import Block
from tests.support.waiting import eventually


@pytest.fixture
def block(tmp_path: Path) -> Iterator[Block]:
    with Block(tmp_path) as made:
        yield made
        made.driver.undial()
        made.driver.release()
        eventually(lambda: made.all_wrong() == [], why=lambda: str(made.all_wrong()))


def action(block: Block, path: str, name: str, value: Any = None, *, who: str = "admin_a") -> None:
    answer = block.call("POST", f"{path}/action", {name: value or {}}, who=who)
    assert answer.status_code == 202, answer.text


def status(block: Block, path: str) -> str:
    (thing,) = block.call("GET", path).json.values()
    word: str = thing["status"]
    return word


def snapshot(block: Block, volume: str) -> str:
    answer = block.call("POST", "/snapshots", {"snapshot": {"volume_id": volume}})
    assert answer.status_code == 202, answer.text
    id: str = answer.json["snapshot"]["id"]
    assert block.rest(f"/snapshots/{id}") == "available"
    return id


def cascade(block: Block, volume: str, _snapshot: str) -> None:
    block.driver.dial("delete_snapshot", hang=True)
    answer = block.call("DELETE", f"/volumes/{volume}?cascade=true")
    assert answer.status_code == 202, answer.text


def revert(block: Block, volume: str, snapshot: str) -> None:
    block.driver.dial("revert_to_snapshot", hang=True)
    action(block, f"/volumes/{volume}", "revert", {"snapshot_id": snapshot}, who="member_a")


@pytest.mark.parametrize(("begin", "ends"), [(cascade, "error_deleting"), (revert, "error")])
@pytest.mark.parametrize("step_in", [("os-reset_status", {"status": "error"}), ("os-force_delete", {})])
def test_a_snapshot_taken_from_its_volumes_operation_leaves_the_volume_at_rest(
    block: Block, begin: Callable[[Block, str, str], None], ends: str, step_in: tuple[str, Any]
) -> None:
    volume = block.volume()
    of_volume = snapshot(block, volume)
    begin(block, volume, of_volume)
    call = "delete_snapshot" if begin is cascade else "revert_to_snapshot"
    eventually(lambda: block.driver.calls[call] > 0)
    block.driver.undial()
    action(block, f"/snapshots/{of_volume}", *step_in)
    assert status(block, f"/volumes/{volume}") == ends
    block.driver.release()
    assert block.rest(f"/snapshots/{of_volume}") in ("error", "gone")
    assert block.call("DELETE", f"/volumes/{volume}?cascade=true").status_code == 202
    assert block.rest(f"/volumes/{volume}") == "gone"


def test_a_create_that_ends_after_its_volume_was_deleted_leaves_nothing(block: Block) -> None:
    block.driver.dial("create_volume", hang=True)
    volume = block.call("POST", "/volumes", {"volume": {"size": 1}}).json["volume"]["id"]
    eventually(lambda: block.driver.calls["create_volume"] > 0)
    action(block, f"/volumes/{volume}", "os-force_delete")
    assert block.rest(f"/volumes/{volume}") == "gone"
    block.driver.release()
    eventually(lambda: block.driver.calls["delete_volume"] == 2)
    eventually(lambda: block.driver.inventory().volumes == frozenset())


def test_a_create_that_ends_while_its_volume_is_being_deleted_leaves_nothing(block: Block) -> None:
    block.driver.dial("create_volume", latency=0.6)
    block.driver.dial("delete_volume", after=True, hang=True, fail_times=1)
    volume = block.call("POST", "/volumes", {"volume": {"size": 1}}).json["volume"]["id"]
    eventually(lambda: block.driver.calls["create_volume"] > 0)
    action(block, f"/volumes/{volume}", "os-force_delete")
    # The deletion has found nothing on the backend, and is still to write so when the create comes back.
    eventually(lambda: block.driver.calls["delete_volume"] == 2)
    assert status(block, f"/volumes/{volume}") == "deleting"
    block.driver.release()
    assert block.rest(f"/volumes/{volume}") == "gone"
    assert block.driver.inventory().volumes == frozenset()


def test_a_snapshot_that_ends_after_it_and_its_volume_were_deleted_leaves_nothing(block: Block) -> None:
    volume = block.volume()
    block.driver.dial("create_snapshot", after=True, hang=True)
    made = block.call("POST", "/snapshots", {"snapshot": {"volume_id": volume}}).json["snapshot"]["id"]
    eventually(lambda: block.driver.calls["create_snapshot"] > 0)
    action(block, f"/snapshots/{made}", "os-force_delete")
    assert block.rest(f"/snapshots/{made}") == "gone"
    assert block.call("DELETE", f"/volumes/{volume}").status_code == 202
    assert block.rest(f"/volumes/{volume}") == "gone"
    # Another worker made it once more meanwhile, as one does that was taken for dead.
    one = VolumeRef(id=volume, size=1, pool="sim")
    block.driver.undial()
    block.driver.create_volume(one)
    block.driver.create_snapshot(SnapshotRef(id=made, volume=one, size=1))
    block.driver.delete_volume(one)
    block.driver.release()
    eventually(lambda: block.driver.inventory().snapshots == frozenset())


def test_a_volume_whose_create_was_cut_off_by_a_reset_is_accounted_for(block: Block) -> None:
    block.driver.dial("create_volume", after=True, hang=True)
    volume = block.call("POST", "/volumes", {"volume": {"size": 1}}).json["volume"]["id"]
    eventually(lambda: block.driver.calls["create_volume"] > 0)
    action(block, f"/volumes/{volume}", "os-reset_status", {"status": "available"})
    block.driver.release()
    action(block, f"/volumes/{volume}", "os-extend", {"new_size": 3}, who="member_a")
    assert block.rest(f"/volumes/{volume}") == "available"
    assert block.wrong() == []
    assert block.call("DELETE", f"/volumes/{volume}").status_code == 202
    assert block.rest(f"/volumes/{volume}") == "gone"
    assert block.wrong() == []


@pytest.fixture
def unplaced(block: Block) -> str:
    """A volume that no backend would take, and that an administrator called available."""
    nowhere = {"name": "nowhere", "extra_specs": {"volume_backend_name": "nowhere"}}
    assert block.call("POST", "/types", {"volume_type": nowhere}, who="admin_a").status_code == 200
    body = {"volume": {"size": 1, "volume_type": "nowhere"}}
    id: str = block.call("POST", "/volumes", body).json["volume"]["id"]
    assert block.rest(f"/volumes/{id}") == "error"
    action(block, f"/volumes/{id}", "os-reset_status", {"status": "available"})
    return id


CONNECTOR = {"host": "h", "initiator": "iqn.2026-01.example:h"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/attachments", {"attachment": {"volume_uuid": "ID", "connector": CONNECTOR}}),
        ("/attachments", {"attachment": {"volume_uuid": "ID"}}),
        ("/volumes/ID/action", {"os-initialize_connection": {"connector": CONNECTOR}}),
        ("/volumes/ID/action", {"os-extend": {"new_size": 2}}),
        ("/volumes", {"volume": {"source_volid": "ID"}}),
        ("/snapshots", {"snapshot": {"volume_id": "ID"}}),
    ],
)
def test_nothing_that_needs_a_backend_is_begun_with_a_volume_on_none(
    block: Block, unplaced: str, path: str, body: dict[str, dict[str, Any]]
) -> None:
    body = {key: {name: unplaced if one == "ID" else one for name, one in value.items()} for key, value in body.items()}
    answer = block.call("POST", path.replace("ID", unplaced), body)
    assert answer.status_code == 400, answer.text
    assert "on no backend" in answer.text
    assert block.call("DELETE", f"/volumes/{unplaced}").status_code == 202
    assert block.call("GET", f"/volumes/{unplaced}").status_code == 404
