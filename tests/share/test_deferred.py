"""Deferred deletion: gone for the user at once, on the backend in time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.shareservice import Shares
from tests.support.waiting import eventually


@pytest.fixture
def shares(tmp_path: Path) -> Iterator[Shares]:
    with Shares(tmp_path, is_deferred_deletion_enabled=True, periodic_deferred_delete_interval=1) as made:
        yield made
        made.driver.undial()
        made.driver.release()


def used(shares: Shares) -> dict[str, int]:
    absolute = shares.ok("GET", "/limits")["limits"]["absolute"]
    names = ("totalSharesUsed", "totalShareGigabytesUsed", "totalShareSnapshotsUsed", "totalSnapshotGigabytesUsed")
    return {name: absolute[name] for name in names if absolute[name]}


def status(shares: Shares, path: str) -> str:
    answer = shares.call("GET", path, who="admin_a")
    (thing,) = answer.json.values()
    found: str = "gone" if answer.status_code == 404 else thing["status"]
    return found


def snapshot_of(shares: Shares, share: str) -> str:
    id: str = shares.ok("POST", "/snapshots", {"snapshot": {"share_id": share}}, status=202)["snapshot"]["id"]
    assert shares.rest(f"/snapshots/{id}") == "available"
    return id


def test_a_share_is_gone_for_its_user_at_once(shares: Shares) -> None:
    share = shares.share()
    shares.driver.dial("delete_share", hang=True)
    shares.ok("DELETE", f"/shares/{share}", status=202)
    shares.refused(404, "GET", f"/shares/{share}")
    assert shares.ok("GET", "/shares") == {"shares": []}
    assert used(shares) == {}
    assert status(shares, f"/shares/{share}") == "deferred_deleting"
    assert [one["id"] for one in shares.ok("GET", "/shares", who="admin_a")["shares"]] == [share]
    shares.refused(404, "DELETE", f"/shares/{share}")
    shares.refused(404, "POST", f"/shares/{share}/action", {"extend": {"new_size": 2}})
    shares.driver.undial()
    shares.driver.release()
    eventually(lambda: status(shares, f"/shares/{share}") == "gone")
    assert shares.all_wrong() == []


def test_what_belongs_to_a_share_is_gone_with_it(shares: Shares) -> None:
    share = shares.share()
    allowed = {"access_type": "ip", "access_to": "192.0.2.1"}
    rule = shares.act(share, "allow_access", allowed, status=200)["access"]["id"]
    assert shares.rest(f"/share-access-rules/{rule}", key="state") == "active"
    one, rules = f"/share-access-rules/{rule}", f"/share-access-rules?share_id={share}"
    locks = [
        {"resource_id": share, "resource_type": "share"},
        {"resource_id": rule, "resource_type": "access_rule", "resource_action": "show"},
    ]
    shares.driver.dial("delete_share", fail="busy")
    shares.ok("DELETE", f"/shares/{share}", status=202)
    eventually(lambda: status(shares, f"/shares/{share}") == "error_deferred_deleting")
    for asked in (
        ("GET", one),
        ("PUT", one, {"update_access": {"access_level": "ro"}}),
        ("PUT", f"{one}/metadata", {"metadata": {"a": "b"}}),
    ):
        shares.refused(404, *asked)
    assert share in shares.refused(400, "GET", rules)
    for lock in locks:
        assert "could not be found" in shares.refused(400, "POST", "/resource-locks", {"resource_lock": lock})
    shares.refused(409, "POST", "/resource-locks", {"resource_lock": locks[0]}, who="admin_a")
    assert shares.ok("GET", one, who="admin_a")["access"]["id"] == rule
    assert len(shares.ok("GET", rules, who="admin_a")["access_list"]) == 1


def test_what_failed_is_deleted_again(shares: Shares) -> None:
    share = shares.share()
    snapshot = snapshot_of(shares, share)
    for call in ("delete_snapshot", "delete_share"):
        shares.driver.dial(call, fail="busy")
    shares.ok("DELETE", f"/snapshots/{snapshot}", status=202)
    eventually(lambda: status(shares, f"/snapshots/{snapshot}") == "error_deferred_deleting")
    shares.ok("DELETE", f"/shares/{share}", status=202)
    eventually(lambda: status(shares, f"/shares/{share}") == "error_deferred_deleting")
    assert used(shares) == {}
    assert shares.wrong() == []
    shares.driver.undial()
    for path in (f"/snapshots/{snapshot}", f"/shares/{share}"):
        eventually(lambda path=path: status(shares, path) == "gone")
    assert shares.all_wrong() == []


def test_a_share_goes_after_its_snapshots_that_nobody_sees(shares: Shares) -> None:
    share = shares.share()
    snapshot = snapshot_of(shares, share)
    older = snapshot_of(shares, share)
    shares.driver.dial("delete_snapshot", hang=True)
    shares.ok("DELETE", f"/snapshots/{snapshot}", status=202)
    shares.refused(403, "DELETE", f"/shares/{share}")
    shares.ok("DELETE", f"/snapshots/{older}", status=202)
    shares.refused(404, "GET", f"/snapshots/{snapshot}")
    revert = {"revert": {"snapshot_id": snapshot}}
    assert "no such snapshot" in shares.refused(400, "POST", f"/shares/{share}/action", revert)
    assert shares.ok("GET", "/snapshots") == {"snapshots": []}
    assert len(shares.ok("GET", "/snapshots", who="admin_a")["snapshots"]) == 2
    assert used(shares) == {"totalSharesUsed": 1, "totalShareGigabytesUsed": 1}
    shares.ok("DELETE", f"/shares/{share}", status=202)
    assert shares.driver.calls["delete_share"] == 0
    shares.driver.undial()
    shares.driver.release()
    eventually(lambda: status(shares, f"/shares/{share}") == "gone")
    assert shares.all_wrong() == []


def test_what_an_administrator_takes_back_counts_again(shares: Shares) -> None:
    share = shares.share()
    shares.driver.dial("delete_share", hang=True)
    shares.ok("DELETE", f"/shares/{share}", status=202)
    shares.act(share, "reset_status", {"status": "available"}, who="admin_a")
    shares.driver.dial("delete_share", fail="busy")
    assert used(shares) == {"totalSharesUsed": 1, "totalShareGigabytesUsed": 1}
    assert shares.ok("GET", f"/shares/{share}")["share"]["status"] == "available"
    shares.act(share, "reset_status", {"status": "error_deferred_deleting"}, who="admin_a")
    assert used(shares) == {}
    shares.driver.undial()
    shares.driver.release()
    eventually(lambda: status(shares, f"/shares/{share}") == "gone")
    assert shares.wrong() == []


def test_force_delete_is_not_deferred(shares: Shares) -> None:
    share = shares.share()
    shares.driver.dial("delete_share", fail="busy")
    shares.ok("DELETE", f"/shares/{share}", status=202)
    eventually(lambda: status(shares, f"/shares/{share}") == "error_deferred_deleting")
    shares.act(share, "force_delete", who="admin_a")
    assert shares.rest(f"/shares/{share}") == "error_deleting"
    shares.driver.undial()
    shares.act(share, "force_delete", who="admin_a")
    assert shares.rest(f"/shares/{share}") == "gone"
    assert used(shares) == {}
    assert shares.all_wrong() == []
