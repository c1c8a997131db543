"""Extend, shrink, revert, deletions, the recycle bin, metadata, and what administrators do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from pumice.kernel.messages import Message
from pumice.share.shares.deletion import expire
from tests.support.shareservice import CAPABLE, Shares
from tests.support.waiting import eventually


def size(shares: Shares, share: str) -> int:
    found: int = shares.ok("GET", f"/shares/{share}", who="admin")["share"]["size"]
    return found


def held(shares: Shares, share: str) -> str:
    """The id of the share's instance, by which the backend has it."""
    found: str = shares.ok("GET", f"/shares/{share}/instances", who="admin")["share_instances"][0]["id"]
    return found


def told(shares: Shares, share: str) -> list[tuple[str, str]]:
    with shares.service.db.read() as tx:
        rows = tx.scalars(select(Message).where(Message.resource_uuid == share))
        return [(row.action_id, row.detail_id) for row in rows]


def refuse(shares: Shares, status: int, share: str, action: str, value: Any = None, **more: Any) -> str:
    return shares.refused(status, "POST", f"/shares/{share}/action", {action: value}, **more)


# Sizes


def test_extend(shares: Shares) -> None:
    share = shares.share(size=1)
    shares.act(share, "extend", {"new_size": 3})
    assert (shares.rest(f"/shares/{share}"), size(shares, share)) == ("available", 3)
    shares.act(share, "os-extend", {"new_size": "4"}, version="2.6")
    assert (shares.rest(f"/shares/{share}"), size(shares, share)) == ("available", 4)
    for wrong in (4, 0, "x", None):
        refuse(shares, 400, share, "extend", {"new_size": wrong})
    refuse(shares, 403, share, "extend", {"new_size": 5, "force": True})
    shares.act(share, "extend", {"new_size": 5, "force": True}, who="admin")
    assert (shares.rest(f"/shares/{share}"), size(shares, share)) == ("available", 5)
    refuse(shares, 404, share, "os-extend", {"new_size": 6}, version="2.6", who="member_b")
    refuse(shares, 404, share, "os-extend", {"new_size": 6}, version="2.7")


def test_force_asks_nobody_for_room(tmp_path: Path) -> None:
    small = {"sim": {"share_driver": "simulated", "simulated_capacity_gb": 10, "max_over_subscription_ratio": "1"}}
    with Shares(tmp_path, small) as shares:
        share = shares.share(size=8)
        shares.act(share, "extend", {"new_size": 20})
        assert (shares.rest(f"/shares/{share}"), size(shares, share)) == ("available", 8)
        assert told(shares, share) == [("008", "002")]
        shares.act(share, "extend", {"new_size": 20, "force": True}, who="admin")
        shares.rest(f"/shares/{share}")
        assert shares.wrong() == []


def test_a_failed_extend_costs_nothing(shares: Shares) -> None:
    share = shares.share(size=1)
    shares.driver.dial("extend_share", fail="no")
    shares.act(share, "extend", {"new_size": 3})
    assert (shares.rest(f"/shares/{share}"), size(shares, share)) == ("extending_error", 1)
    assert told(shares, share) == [("008", "015")]
    assert shares.wrong() == []
    refuse(shares, 400, share, "extend", {"new_size": 3})
    shares.act(share, "reset_status", {"status": "available"}, who="admin")


def test_administrators_extend_beyond_the_types_size(shares: Shares) -> None:
    bounds = {"provisioning:max_share_size": "2", "provisioning:max_share_extend_size": "4"}
    shares.type("bound", CAPABLE | bounds)
    share = shares.share(share_type="bound")
    refuse(shares, 400, share, "extend", {"new_size": 3})
    shares.act(share, "extend", {"new_size": 3}, who="admin")
    assert shares.rest(f"/shares/{share}") == "available"
    refuse(shares, 400, share, "extend", {"new_size": 5}, who="admin")


def test_shrink(shares: Shares) -> None:
    share = shares.share(size=4)
    shares.act(share, "shrink", {"new_size": 3})
    assert (shares.rest(f"/shares/{share}"), size(shares, share)) == ("available", 3)
    shares.act(share, "os-shrink", {"new_size": 2}, version="2.0")
    assert (shares.rest(f"/shares/{share}"), size(shares, share)) == ("available", 2)
    for wrong in (2, 3, 0, "x"):
        refuse(shares, 400, share, "shrink", {"new_size": wrong})


def test_a_shrink_that_would_lose_data(shares: Shares) -> None:
    share = shares.share(size=4)
    shares.driver.fill(held(shares, share), 3)
    shares.act(share, "shrink", {"new_size": 1})
    assert shares.rest(f"/shares/{share}") == "shrinking_possible_data_loss_error"
    assert told(shares, share) == [("009", "018")]
    assert size(shares, share) == 4
    refuse(shares, 400, share, "extend", {"new_size": 9})
    shares.act(share, "shrink", {"new_size": 3})
    assert (shares.rest(f"/shares/{share}"), size(shares, share)) == ("available", 3)


def test_a_failed_shrink(shares: Shares) -> None:
    share = shares.share(size=4)
    shares.driver.dial("shrink_share", fail="no")
    shares.act(share, "shrink", {"new_size": 1})
    assert shares.rest(f"/shares/{share}") == "shrinking_error"
    assert told(shares, share) == [("009", "019")]


# Reverting


def test_revert(shares: Shares) -> None:
    share = shares.share(size=2)
    first = shares.snapshot(share)
    taken = shares.snapshot(share)
    assert first in refuse(shares, 409, share, "revert", {"snapshot_id": first})
    refuse(shares, 400, share, "revert", {"snapshot_id": "0" * 32})
    shares.act(share, "revert", {"snapshot_id": taken})
    assert shares.rest(f"/shares/{share}") == "available"
    assert shares.ok("GET", f"/snapshots/{taken}")["snapshot"]["status"] == "available"
    other = shares.snapshot(shares.share())
    refuse(shares, 400, share, "revert", {"snapshot_id": other})
    refuse(shares, 404, share, "revert", {"snapshot_id": taken}, version="2.26")


@pytest.mark.parametrize("then", [1, 4])
def test_a_reverted_share_is_as_large_as_its_snapshot(shares: Shares, then: int) -> None:
    share = shares.share(size=2)
    taken = shares.snapshot(share)
    shares.act(share, "extend" if then > 2 else "shrink", {"new_size": then})
    assert shares.rest(f"/shares/{share}") == "available"
    shares.act(share, "revert", {"snapshot_id": taken})
    assert (shares.rest(f"/shares/{share}"), size(shares, share)) == ("available", 2)


def test_a_failed_revert(shares: Shares) -> None:
    share = shares.share(size=2)
    taken = shares.snapshot(share)
    shares.act(share, "shrink", {"new_size": 1})
    assert shares.rest(f"/shares/{share}") == "available"
    shares.driver.dial("revert_to_snapshot", fail="no")
    shares.act(share, "revert", {"snapshot_id": taken})
    assert (shares.rest(f"/shares/{share}"), size(shares, share)) == ("reverting_error", 1)
    assert shares.ok("GET", f"/snapshots/{taken}")["snapshot"]["status"] == "available"
    assert told(shares, share) == [("006", "035")]
    refuse(shares, 409, share, "revert", {"snapshot_id": taken})


def test_a_type_may_not_allow_reverts(shares: Shares) -> None:
    shares.type("onward", CAPABLE | {"revert_to_snapshot_support": "False"})
    share = shares.share(share_type="onward")
    taken = shares.snapshot(share)
    assert "revert_to_snapshot_support" in refuse(shares, 400, share, "revert", {"snapshot_id": taken})


# Going


def test_delete_is_refused_while_anything_hangs_on_the_share(shares: Shares) -> None:
    share = shares.share()
    taken = shares.snapshot(share)
    for action in ("soft_delete", "force_delete"):
        assert "snapshots" in refuse(shares, 403, share, action, who="admin_a")
    shares.ok("DELETE", f"/snapshots/{taken}", status=202)
    assert shares.rest(f"/snapshots/{taken}") == "gone"
    shares.refused(400, "DELETE", f"/shares/{share}?share_group_id=x")
    shares.ok("DELETE", f"/shares/{share}", status=202)
    assert shares.rest(f"/shares/{share}") == "gone"


def test_a_failed_delete_can_be_repeated_and_forced(shares: Shares) -> None:
    share = shares.share()
    shares.driver.dial("delete_share", fail="no")
    shares.ok("DELETE", f"/shares/{share}", status=202)
    assert shares.rest(f"/shares/{share}") == "error_deleting"
    shares.ok("DELETE", f"/shares/{share}", status=202)
    assert shares.rest(f"/shares/{share}") == "error_deleting"
    refuse(shares, 403, share, "force_delete")
    shares.driver.undial()
    shares.act(share, "force_delete", who="admin")
    assert shares.rest(f"/shares/{share}") == "gone"


def test_older_clients_force_by_another_name(shares: Shares) -> None:
    share = shares.share()
    shares.act(share, "os-force_delete", version="2.6", who="admin_a")
    assert shares.rest(f"/shares/{share}") == "gone"


def test_a_forced_delete_takes_the_share_from_a_create_that_hangs(shares: Shares) -> None:
    shares.driver.dial("create_share", hang=True)
    share = shares.ok("POST", "/shares", {"share": {"share_proto": "NFS", "size": 1}})["share"]["id"]
    eventually(lambda: shares.driver.calls["create_share"] > 0)
    shares.act(share, "force_delete", who="admin")
    shares.driver.release()
    assert shares.rest(f"/shares/{share}") == "gone"
    shares.driver.undial()
    eventually(lambda: shares.all_wrong() == [])


# The recycle bin


def test_soft_delete_and_restore(shares: Shares) -> None:
    share = shares.share(name="kept")
    refuse(shares, 404, share, "soft_delete", version="2.68")
    shares.ok("POST", f"/shares/{share}/action", {"restore": None}, status=200)
    shares.act(share, "soft_delete")
    shown = shares.ok("GET", f"/shares/{share}")["share"]
    assert (shown["status"], shown["is_soft_deleted"]) == ("available", True)
    assert shown["scheduled_to_be_deleted_at"] > shown["created_at"]
    assert shares.ok("GET", "/shares")["shares"] == []
    assert [one["id"] for one in shares.ok("GET", "/shares?is_soft_deleted=true")["shares"]] == [share]
    refuse(shares, 403, share, "soft_delete")
    for action, value in (
        ("extend", {"new_size": 2}),
        ("shrink", {"new_size": 1}),
        ("reset_status", {"status": "error"}),
        ("revert", {"snapshot_id": "x"}),
    ):
        assert "recycle bin" in refuse(shares, 403, share, action, value, who="admin_a")
    assert "recycle bin" in shares.refused(403, "PUT", f"/shares/{share}", {"share": {"display_name": "x"}})
    shares.act(share, "restore")
    assert shares.ok("GET", f"/shares/{share}")["share"]["is_soft_deleted"] is False
    shares.act(share, "extend", {"new_size": 2})
    assert shares.rest(f"/shares/{share}") == "available"


def test_shares_leave_the_recycle_bin_in_time(tmp_path: Path) -> None:
    with Shares(tmp_path, soft_deleted_share_retention_time=0, soft_deleted_shares_check_interval=1) as shares:
        share, other = shares.share(), shares.share()
        shares.act(share, "soft_delete")
        assert shares.rest(f"/shares/{other}") == "available"
        eventually(lambda: shares.rest(f"/shares/{share}") == "gone")
        assert shares.all_wrong() == []


def test_what_was_restored_does_not_expire(shares: Shares) -> None:
    share = shares.share()
    shares.act(share, "soft_delete")
    assert expire(shares.service.db, shares.service.journal) == 0
    shares.act(share, "restore")
    assert expire(shares.service.db, shares.service.journal) == 0
    assert shares.rest(f"/shares/{share}") == "available"


# Statuses that administrators set


def test_reset_status(shares: Shares) -> None:
    share = shares.share()
    refuse(shares, 403, share, "reset_status", {"status": "error"})
    refuse(shares, 400, share, "reset_status", {"status": "strange"}, who="admin")
    refuse(shares, 400, share, "reset_status", {}, who="admin")
    shares.act(share, "reset_status", {"status": "error"}, who="admin")
    assert shares.rest(f"/shares/{share}") == "error"
    shares.act(share, "os-reset_status", {"status": "available"}, who="admin_a", version="2.6")
    (instance,) = shares.ok("GET", f"/shares/{share}/instances", who="admin")["share_instances"]
    assert instance["status"] == "available"
    body = {"reset_status": {"status": "error_deleting"}}
    shares.ok("POST", f"/share_instances/{instance['id']}/action", body, who="admin", status=202)
    assert shares.rest(f"/shares/{share}") == "error_deleting"
    wrong = {"reset_status": {"status": "reverting"}}
    shares.refused(400, "POST", f"/share_instances/{instance['id']}/action", wrong, who="admin")
    shares.ok("POST", f"/share_instances/{instance['id']}/action", {"force_delete": None}, who="admin", status=202)
    assert shares.rest(f"/shares/{share}") == "gone"


def test_a_reset_takes_the_share_from_an_extend(shares: Shares) -> None:
    share = shares.share()
    shares.driver.dial("extend_share", hang=True)
    shares.act(share, "extend", {"new_size": 4})
    eventually(lambda: shares.driver.calls["extend_share"] > 0)
    shares.act(share, "reset_status", {"status": "available"}, who="admin")
    shares.driver.release()
    assert (shares.rest(f"/shares/{share}"), size(shares, share)) == ("available", 1)
    shares.driver.undial()
    assert shares.wrong() == []


def test_reset_task_state_is_experimental(shares: Shares) -> None:
    share = shares.share()
    body = {"task_state": "migration_error"}
    refuse(shares, 404, share, "reset_task_state", body, who="admin_a", version="2.95")
    shares.act(share, "reset_task_state", body, who="admin_a", version="2.95", experimental=True)
    assert shares.ok("GET", f"/shares/{share}")["share"]["task_state"] == "migration_error"
    shares.act(share, "reset_task_state", {"task_state": "data_copying_in_progress"}, who="admin_a")
    refuse(shares, 400, share, "extend", {"new_size": 2})
    shares.refused(400, "DELETE", f"/shares/{share}")
    refuse(shares, 400, share, "reset_task_state", {"task_state": "thinking"}, who="admin_a")
    shares.act(share, "reset_task_state", {"task_state": None}, who="admin_a")
    assert shares.ok("GET", f"/shares/{share}")["share"]["task_state"] is None


# Metadata


def test_metadata(shares: Shares) -> None:
    share = shares.share(metadata={"a": "1"})
    path = f"/shares/{share}/metadata"
    assert shares.ok("GET", path) == {"metadata": {"a": "1"}}
    assert shares.ok("POST", path, {"metadata": {"b": "2"}}) == {"metadata": {"a": "1", "b": "2"}}
    assert shares.ok("PUT", path, {"metadata": {"c": "3"}}) == {"metadata": {"c": "3"}}
    assert shares.ok("POST", f"{path}/c", {"metadata": {"c": "4"}}) == {"metadata": {"c": "4"}}
    assert shares.ok("POST", f"{path}/c", {"meta": {"c": "5"}}) == {"metadata": {"c": "5"}}
    assert shares.ok("GET", f"{path}/c") == {"meta": {"c": "5"}}
    shares.refused(400, "POST", f"{path}/c", {"metadata": {"d": "4"}})
    shares.refused(404, "GET", f"{path}/d")
    shares.refused(404, "DELETE", f"{path}/d")
    shares.ok("DELETE", f"{path}/c")
    assert shares.ok("GET", path) == {"metadata": {}}
    for wrong in ({"k" * 256: "v"}, {"k": "v" * 1024}, {"": "v"}, {"k": ""}, {"k": 1}):
        shares.refused(400, "POST", path, {"metadata": wrong})


def test_some_keys_are_for_administrators(shares: Shares) -> None:
    share = shares.share(metadata={"a": "1"})
    path, key = f"/shares/{share}/metadata", "__affinity_same_host"
    shares.refused(403, "POST", path, {"metadata": {key: "x"}})
    shares.ok("POST", path, {"metadata": {key: "x"}}, who="admin")
    shares.refused(403, "POST", path, {"metadata": {key: "y"}})
    shares.refused(403, "DELETE", f"{path}/{key}")
    assert shares.ok("PUT", path, {"metadata": {"b": "2"}}) == {"metadata": {"b": "2", key: "x"}}
    assert shares.ok("PUT", path, {"metadata": {"b": "2"}}, who="admin") == {"metadata": {"b": "2"}}


def test_metadata_of_export_locations(shares: Shares) -> None:
    share = shares.share()
    (location,) = shares.ok("GET", f"/shares/{share}/export_locations")["export_locations"]
    path = f"/shares/{share}/export_locations/{location['id']}/metadata"
    assert shares.ok("POST", path, {"metadata": {"speed": "10"}}) == {"metadata": {"speed": "10"}}
    shares.refused(403, "POST", path, {"metadata": {"preferred": "True"}})
    shares.ok("POST", path, {"metadata": {"preferred": "True"}}, who="admin")
    (shown,) = shares.ok("GET", f"/shares/{share}/export_locations")["export_locations"]
    assert shown["metadata"] == {"speed": "10"}
    assert shares.ok("GET", f"{path}/speed") == {"meta": {"speed": "10"}}
    shares.refused(404, "GET", path, version="2.86")
    other = shares.share()
    shares.refused(404, "GET", f"/shares/{other}/export_locations/{location['id']}/metadata")
    shares.refused(404, "GET", path, who="member_b")
