"""Access rules of mountable snapshots."""

from __future__ import annotations

from typing import Any

import pytest

from pumice.kernel.db.base import new_id
from tests.share.access.conftest import World
from tests.support.shareservice import CAPABLE, MOVING
from tests.support.waiting import eventually


def snapshot_of(world: World, share: str) -> str:
    answer = world.ok("POST", "/snapshots", {"snapshot": {"share_id": share}}, status=202)
    id: str = answer["snapshot"]["id"]
    assert world.rest(f"/snapshots/{id}") == "available"
    return id


def act(world: World, snapshot: str, name: str, status: int = 202, *, who: str = "member_a", **values: Any) -> Any:
    version = values.pop("version", "2.99")
    return world.ok("POST", f"/snapshots/{snapshot}/action", {name: values}, status=status, who=who, version=version)


def allow(world: World, snapshot: str, to: str, status: int = 202, *, kind: str = "ip", **more: Any) -> Any:
    answer = act(world, snapshot, "allow_access", status, access_type=kind, access_to=to, **more)
    return answer["snapshot_access"] if status == 202 else answer


def settled(world: World, snapshot: str) -> dict[str, str]:
    def look() -> list[dict[str, str]] | None:
        found = world.ok("GET", f"/snapshots/{snapshot}/access-list")["snapshot_access_list"]
        return None if any(rule["state"] in MOVING for rule in found) else [*found, {}]

    return {rule["access_to"]: rule["state"] for rule in eventually(look) if rule}


def test_a_rule_comes_and_goes_and_only_reads(world: World) -> None:
    share = world.share()
    world.allow(share, "10.0.0.1")
    snapshot = snapshot_of(world, share)
    rule = allow(world, snapshot, "10.0.0.2")
    assert set(rule) == {"id", "access_type", "access_to", "state"}
    assert rule["state"] == "queued_to_apply"
    assert settled(world, snapshot) == {"10.0.0.2": "active"}
    world.settled(share)
    assert world.enforced() == {"ip 10.0.0.1 rw", "ip 10.0.0.2 ro"}
    act(world, snapshot, "deny_access", access_id=rule["id"])
    assert settled(world, snapshot) == {}
    assert world.enforced() == {"ip 10.0.0.1 rw"}
    assert world.all_wrong() == []


def test_one_bad_rule_fails_alone(world: World) -> None:
    snapshot = snapshot_of(world, world.share())
    world.driver.dial("access_rule", match="10.0.0.9", fail="no")
    for last in (1, 9):
        allow(world, snapshot, f"10.0.0.{last}")
    assert settled(world, snapshot) == {"10.0.0.1": "active", "10.0.0.9": "error"}
    assert world.told(snapshot) == [("SHARE_SNAPSHOT", "010", "021")]


def test_a_backend_that_fails_catches_up(world: World) -> None:
    snapshot = snapshot_of(world, world.share())
    world.driver.dial("apply_snapshot_access", fail="the server is away")
    allow(world, snapshot, "10.0.0.1")
    assert settled(world, snapshot) == {"10.0.0.1": "error"}
    world.driver.undial()
    eventually(lambda: settled(world, snapshot) == {"10.0.0.1": "active"})


def test_what_is_refused(world: World) -> None:
    share = world.share()
    snapshot, other = snapshot_of(world, share), snapshot_of(world, share)
    rule = allow(world, snapshot, "10.0.0.1")
    allow(world, snapshot, "10.0.0.1", 400)
    allow(world, snapshot, "1.2.3.256", 400)
    allow(world, snapshot, "x", 400, kind="fake")
    allow(world, snapshot, "fd00::1", 400, version="2.37")
    allow(world, snapshot, "fd00::1")
    allow(world, snapshot, "10.0.0.2", 404, version="2.31")
    act(world, snapshot, "allow_access", 400, access_type="ip")
    act(world, snapshot, "allow_access", 400, access_type=1, access_to="x")
    act(world, other, "deny_access", 400, access_id=rule["id"])
    act(world, snapshot, "deny_access", 404, access_id=new_id())
    allow(world, snapshot, "10.0.0.2", 404, who="member_b")
    allow(world, snapshot, "10.0.0.2", 403, who="reader_a")
    assert len(world.ok("GET", f"/snapshots/{snapshot}/access-list", who="reader_a")["snapshot_access_list"]) == 2
    assert world.call("GET", f"/snapshots/{snapshot}/access-list", who="member_b").status_code == 404
    assert world.call("GET", f"/snapshots/{snapshot}/access-list", version="2.31").status_code == 404


@pytest.mark.parametrize(
    ("specs", "listed"),
    [({"mount_snapshot_support": "False"}, 400), ({"snapshot_inherit_share_access_support": "True"}, 200)],
)
def test_shares_whose_snapshots_have_no_rules_of_their_own(world: World, specs: dict[str, str], listed: int) -> None:
    world.type("other", CAPABLE | specs)
    snapshot = snapshot_of(world, world.share(share_type="other"))
    allow(world, snapshot, "10.0.0.1", 400)
    assert world.call("GET", f"/snapshots/{snapshot}/access-list").status_code == listed


def test_rules_go_with_their_snapshot(world: World) -> None:
    share = world.share()
    snapshot = snapshot_of(world, share)
    allow(world, snapshot, "10.0.0.1")
    settled(world, snapshot)
    world.ok("DELETE", f"/snapshots/{snapshot}", status=202)
    assert world.rest(f"/snapshots/{snapshot}") == "gone"
    assert world.enforced() == set()
    assert world.all_wrong() == []


HEIR = CAPABLE | {"snapshot_inherit_share_access_support": "True"}


def test_snapshots_that_inherit_are_for_those_who_may_mount_the_share(world: World) -> None:
    world.type("heirs", HEIR)
    share = world.share(share_type="heirs")
    rule = world.allow(share, "10.0.0.1")
    world.settled(share)
    snapshot_of(world, share)
    assert world.enforced() == {"ip 10.0.0.1 rw", "ip 10.0.0.1 ro"}
    world.allow(share, "10.0.0.2", access_level="ro")
    world.settled(share)
    world.deny(share, rule["id"])
    assert world.settled(share) == {"10.0.0.2": "active"}
    assert world.enforced() == {"ip 10.0.0.2 ro"}
    assert world.all_wrong() == []


def test_a_rule_that_a_snapshot_cannot_inherit_is_in_error(world: World) -> None:
    world.type("heirs", HEIR)
    share = world.share(share_type="heirs")
    snapshot_of(world, share)
    world.driver.dial("apply_snapshot_access", fail="the server is away")
    world.allow(share, "10.0.0.1")
    assert world.settled(share) == {"10.0.0.1": "error"}
    world.driver.undial()
    eventually(lambda: world.settled(share) == {"10.0.0.1": "active"})
    assert world.all_wrong() == []


def test_inherited_rules_come_back_with_a_lost_export(world: World) -> None:
    world.type("heirs", HEIR)
    share = world.share(share_type="heirs")
    world.allow(share, "10.0.0.1")
    world.settled(share)
    snapshot_of(world, share)
    for export in world.driver.inventory().exports:
        world.driver.forget_export(export)
    assert world.enforced() == set()
    eventually(lambda: world.enforced() == {"ip 10.0.0.1 rw", "ip 10.0.0.1 ro"})
    assert world.all_wrong() == []
