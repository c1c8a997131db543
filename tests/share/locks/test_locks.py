"""Resource locks: placed, listed, changed by whom they belong to; what they keep from happening."""

from __future__ import annotations

from typing import Any

import pytest

from pumice.kernel.db.base import new_id
from tests.share.access.conftest import World, world
from tests.support.identity import PEOPLE, PROJECT_A

__all__ = ["world"]

KEYS = {
    "id",
    "user_id",
    "project_id",
    "lock_context",
    "resource_type",
    "resource_id",
    "resource_action",
    "lock_reason",
    "created_at",
    "updated_at",
    "links",
}


def lock(world: World, resource: str, *, kind: str = "share", who: str = "member_a", **values: Any) -> dict[str, Any]:
    body = {"resource_lock": {"resource_id": resource, "resource_type": kind, **values}}
    found: dict[str, Any] = world.ok("POST", "/resource-locks", body, who=who)["resource_lock"]
    return found


def not_locked(world: World, status: int, resource: str, *, who: str = "member_a", **values: Any) -> str:
    body = {"resource_lock": {"resource_id": resource, "resource_type": "share", **values}}
    return world.refused(status, "POST", "/resource-locks", body, who=who)


def listed(world: World, query: str = "", *, who: str = "member_a") -> list[str]:
    return [one["id"] for one in world.ok("GET", f"/resource-locks{query}", who=who)["resource_locks"]]


def rule_of(world: World, share: str, **more: Any) -> str:
    rule: str = world.allow(share, "10.0.0.1", **more)["id"]
    assert world.rule_rests(rule) == "active"
    return rule


class TestPlacing:
    def test_a_share(self, world: World) -> None:
        share = world.share()
        made = lock(world, share, lock_reason="payroll")
        assert set(made) == KEYS
        assert made["project_id"] == PROJECT_A
        assert made["user_id"] == PEOPLE["member_a"].user_id
        assert (made["lock_context"], made["resource_action"], made["lock_reason"]) == ("user", "delete", "payroll")
        assert made["updated_at"] is None
        assert made["links"][0]["href"].endswith(f"/v2/resource-locks/{made['id']}")
        assert world.ok("GET", f"/resource-locks/{made['id']}")["resource_lock"] == made
        assert world.ok("GET", f"/shares/{share}")["share"]["status"] == "available"

    def test_as_whom(self, world: World) -> None:
        share = world.share()
        for who, context in (
            ("member_a", "user"),
            ("admin_a", "admin"),
            ("service", "service"),
            ("member_a_via_service", "service"),
        ):
            assert lock(world, share, who=who)["lock_context"] == context

    def test_what_is_refused(self, world: World) -> None:
        share = world.share()
        rule = rule_of(world, share)
        not_locked(world, 400, new_id())
        not_locked(world, 400, "x")
        not_locked(world, 400, share, resource_type="volume")
        not_locked(world, 400, share, resource_action="show")
        not_locked(world, 400, share, resource_action="extend")
        not_locked(world, 400, share, lock_reason="x" * 1024)
        not_locked(world, 400, rule, resource_type="share")
        not_locked(world, 400, share, who="member_b")
        not_locked(world, 403, share, who="reader_a")
        body: Any
        for body in ({}, {"resource_lock": {}}, {"resource_lock": {"resource_id": share}}):
            world.refused(400, "POST", "/resource-locks", body)
        body = {"resource_lock": {"resource_id": share, "resource_type": "share"}}
        assert world.call("POST", "/resource-locks", body, version="2.80").status_code == 404

    def test_states_that_forbid_it(self, world: World) -> None:
        share = world.share()
        rule = rule_of(world, share)
        for status in ("deleting", "error_deleting", "unmanage_error"):
            world.act(share, "reset_status", {"status": status}, who="admin_a")
            not_locked(world, 409, share)
        world.act(share, "reset_status", {"status": "available"}, who="admin_a")
        world.driver.dial("access_rule", match="10.0.0.1", fail="no")
        world.allow(share, "10.0.0.2")
        assert world.settled(share)["10.0.0.1"] == "error"
        not_locked(world, 409, rule, resource_type="access_rule")
        lock(world, rule, kind="access_rule", resource_action="show")
        world.act(share, "soft_delete")
        not_locked(world, 409, share)

    def test_a_rule_is_hidden_once(self, world: World) -> None:
        rule = rule_of(world, world.share())
        lock(world, rule, kind="access_rule", resource_action="show")
        not_locked(world, 409, rule, resource_type="access_rule", resource_action="show")
        first = lock(world, rule, kind="access_rule")
        second = lock(world, rule, kind="access_rule")
        assert first["id"] != second["id"]
        path = f"/resource-locks/{first['id']}"
        world.refused(400, "PUT", path, {"resource_lock": {"resource_action": "show"}})


class TestChanging:
    def test_reason_and_action(self, world: World) -> None:
        rule = rule_of(world, world.share())
        path = f"/resource-locks/{lock(world, rule, kind='access_rule')['id']}"
        changed = world.ok("PUT", path, {"resource_lock": {"resource_action": "show", "lock_reason": "why"}})
        assert changed["resource_lock"]["resource_action"] == "show"
        assert changed["resource_lock"]["lock_reason"] == "why"
        assert changed["resource_lock"]["updated_at"] is not None
        cleared = world.ok("PUT", path, {"resource_lock": {"lock_reason": None}})["resource_lock"]
        assert (cleared["lock_reason"], cleared["resource_action"]) == (None, "show")
        for values in ({"resource_id": new_id()}, {"resource_action": "extend"}, {"lock_reason": "x" * 1024}):
            world.refused(400, "PUT", path, {"resource_lock": values})
        world.ok("DELETE", path, status=204)
        world.refused(404, "GET", path)
        world.refused(404, "DELETE", path)

    @pytest.mark.parametrize(
        ("owner", "may", "may_not"),
        [
            (
                "member_a",
                ("member_a", "member_a_via_service", "admin_a", "admin", "service"),
                ("member2_a", "reader_a"),
            ),
            ("service", ("service", "admin"), ()),
            ("member_a_via_service", ("member_a_via_service", "admin"), ("member_a", "member2_a")),
            ("admin_a", ("admin_a", "admin"), ("member_a",)),
        ],
    )
    def test_by_whom(self, world: World, owner: str, may: tuple[str, ...], may_not: tuple[str, ...]) -> None:
        share = world.share()
        change = {"resource_lock": {"lock_reason": "other"}}
        for who in may:
            path = f"/resource-locks/{lock(world, share, who=owner)['id']}"
            world.ok("PUT", path, change, who=who)
            world.ok("DELETE", path, status=204, who=who)
        path = f"/resource-locks/{lock(world, share, who=owner)['id']}"
        for who in may_not:
            world.refused(403, "PUT", path, change, who=who)
            world.refused(403, "DELETE", path, who=who)
        world.refused(404, "DELETE", path, who="member_b")
        world.refused(404, "PUT", path, change, who="member_b")


class TestLists:
    def test_filters_and_pages(self, world: World) -> None:
        share = world.share()
        rule = rule_of(world, share)
        first = lock(world, share, lock_reason="one of them")["id"]
        second = lock(world, share, who="member2_a", lock_reason="another")["id"]
        third = lock(world, rule, kind="access_rule", resource_action="show", who="admin_a")["id"]
        assert listed(world) == [third, second, first]
        assert listed(world, "?resource_type=share") == [second, first]
        assert listed(world, f"?resource_id={rule}") == [third]
        assert listed(world, "?resource_action=show") == [third]
        assert listed(world, "?lock_context=admin") == [third]
        assert listed(world, f"?user_id={PEOPLE['member2_a'].user_id}") == [second]
        assert listed(world, f"?id={first}") == [first]
        assert listed(world, "?lock_reason=another") == [second]
        assert listed(world, "?lock_reason~=other") == [second]
        assert listed(world, "?sort_key=lock_reason&sort_dir=asc&resource_type=share") == [second, first]
        assert listed(world, "?created_since=2000-01-01T00:00:00") == [third, second, first]
        assert listed(world, "?created_before=2000-01-01T00:00:00") == []
        world.refused(400, "GET", "/resource-locks?created_since=yesterday")
        page = world.ok("GET", "/resource-locks?limit=1&with_count=true")
        assert (len(page["resource_locks"]), page["count"]) == (1, 3)
        assert page["resource_locks_links"][0]["rel"] == "next"
        assert listed(world, "?limit=1&offset=2") == [first]

    def test_of_other_projects(self, world: World) -> None:
        mine = lock(world, world.share())["id"]
        theirs = lock(world, world.share(who="member_b"), who="member_b")["id"]
        assert listed(world) == [mine]
        assert listed(world, who="member_b") == [theirs]
        for query in ("?all_projects=1", "?all_projects=", "?all_tenants="):
            assert listed(world, query, who="admin") == [theirs, mine]
        assert listed(world, f"?all_projects=1&project_id={PROJECT_A}", who="service") == [mine]
        assert listed(world, f"?project_id={PROJECT_A}", who="admin") == []
        world.refused(403, "GET", "/resource-locks?all_projects=1")
        world.refused(404, "GET", f"/resource-locks/{theirs}")
        assert world.ok("GET", f"/resource-locks/{theirs}", who="admin")["resource_lock"]["id"] == theirs


class TestShares:
    def test_a_locked_share_stays(self, world: World) -> None:
        share = world.share()
        made = lock(world, share)["id"]
        assert "locked" in world.refused(403, "DELETE", f"/shares/{share}")
        world.act(share, "soft_delete", status=403)
        world.act(share, "force_delete", status=403, who="admin_a")
        world.act(share, "extend", {"new_size": 2})
        assert world.rest(f"/shares/{share}") == "available"
        world.ok("DELETE", f"/resource-locks/{made}", status=204)
        world.ok("DELETE", f"/shares/{share}", status=202)
        assert world.rest(f"/shares/{share}") == "gone"

    def test_one_that_could_not_be_made_goes_with_its_lock_only(self, world: World) -> None:
        world.driver.dial("create_share", fail="no")
        answer = world.ok("POST", "/shares", {"share": {"share_proto": "NFS", "size": 1}})
        share = answer["share"]["id"]
        assert world.rest(f"/shares/{share}") == "error"
        made = lock(world, share)["id"]
        world.refused(403, "DELETE", f"/shares/{share}")
        world.ok("DELETE", f"/resource-locks/{made}", status=204)
        world.ok("DELETE", f"/shares/{share}", status=202)


class TestRules:
    def test_a_hidden_rule_is_read_by_its_owner_and_those_above(self, world: World) -> None:
        share = world.share()
        rule = rule_of(world, share, lock_visibility=True, lock_reason="secret client")
        (made,) = world.ok("GET", f"/resource-locks?resource_id={rule}")["resource_locks"]
        assert (made["resource_action"], made["lock_reason"]) == ("show", "secret client")
        for who, seen in (
            ("member_a", "10.0.0.1"),
            ("admin_a", "10.0.0.1"),
            ("admin", "10.0.0.1"),
            ("service", "10.0.0.1"),
            ("member2_a", "******"),
            ("reader_a", "******"),
        ):
            shown = world.ok("GET", f"/share-access-rules/{rule}", who=who)["access"]
            assert shown["access_to"] == seen
            (entry,) = world.rules(share, who=who)
            assert entry["access_to"] == seen
            assert entry["access_key"] == ("******" if seen == "******" else None)
        by_target = "&access_type=ip&access_to=10.0.0.1"
        assert world.rules(share, who="member2_a", query=by_target) == []
        assert len(world.rules(share, query=by_target)) == 1
        assert len(world.rules(share, who="member2_a", query="&access_type=ip")) == 1
        # Older clients are told no more.
        old = world.act(share, "access_list", status=200, version="2.44", who="member2_a")["access_list"]
        assert [one["access_to"] for one in old] == ["******"]

    def test_a_reason_needs_a_lock(self, world: World) -> None:
        share = world.share()
        assert "lock_reason" in world.not_allowed(400, share, "10.0.0.1", lock_reason="why")
        world.not_allowed(400, share, "10.0.0.1", lock_visibility="maybe")
        # Below 2.82 these keys mean nothing.
        body = {"access_type": "ip", "access_to": "10.0.0.1", "lock_deletion": True}
        world.act(share, "allow_access", body, status=200, version="2.81")
        assert listed(world) == []

    def test_a_rule_that_cannot_be_locked_is_not_made(self, world: World) -> None:
        share = world.share()
        world.act(share, "reset_status", {"status": "error_deleting"}, who="admin_a")
        world.not_allowed(400, share, "10.0.0.1", lock_deletion=True)
        assert world.rules(share) == []
        assert listed(world) == []
        world.act(share, "reset_status", {"status": "available"}, who="admin_a")

    def test_a_locked_rule_stays_until_unrestricted(self, world: World) -> None:
        share = world.share()
        rule = rule_of(world, share, lock_deletion=True)
        of_share, of_rule = world.ok("GET", "/resource-locks?sort_key=resource_type&sort_dir=desc")["resource_locks"]
        assert (of_share["resource_type"], of_share["resource_id"]) == ("share", share)
        assert rule in of_share["lock_reason"]
        assert (of_rule["resource_type"], of_rule["resource_action"]) == ("access_rule", "delete")
        world.refused(403, "DELETE", f"/shares/{share}")
        world.deny(share, rule, status=403)
        world.deny(share, rule, status=403, unrestrict=False)
        world.deny(share, rule, status=403, unrestrict=True, who="member2_a")
        assert world.settled(share) == {"10.0.0.1": "active"}
        world.deny(share, rule, unrestrict=True)
        assert world.rule_rests(rule) == "gone"
        assert listed(world) == []
        world.ok("DELETE", f"/shares/{share}", status=202)

    def test_unrestrict_begins_with_2_82(self, world: World) -> None:
        share = world.share()
        rule = rule_of(world, share, lock_deletion=True)
        body = {"deny_access": {"access_id": rule, "unrestrict": True}}
        world.refused(403, "POST", f"/shares/{share}/action", body, version="2.81")

    def test_the_locks_of_two_rules_live_as_long_as_each(self, world: World) -> None:
        share = world.share()
        first = world.allow(share, "10.0.0.1", lock_deletion=True, lock_visibility=True)["id"]
        second = world.allow(share, "10.0.0.2", lock_deletion=True, lock_visibility=True)["id"]
        world.settled(share)
        assert len(listed(world)) == 6
        world.deny(share, second, unrestrict=True)
        assert world.rule_rests(second) == "gone"
        left = world.ok("GET", "/resource-locks")["resource_locks"]
        assert len(left) == 3
        assert {one["resource_id"] for one in left} == {share, first}
        world.refused(403, "DELETE", f"/shares/{share}")
        world.deny(share, first, status=403)
        world.deny(share, first, unrestrict=True)
        assert world.rule_rests(first) == "gone"
        assert listed(world) == []
        world.ok("DELETE", f"/shares/{share}", status=202)
        assert world.rest(f"/shares/{share}") == "gone"

    def test_a_rule_that_is_still_going_is_still_locked(self, world: World) -> None:
        share = world.share()
        rule = rule_of(world, share, lock_deletion=True)
        world.driver.dial("apply_access", fail="the server is away")
        world.deny(share, rule, unrestrict=True)
        assert world.rule_rests(rule) == "error"
        assert len(listed(world)) == 2
        world.refused(403, "DELETE", f"/shares/{share}")
        world.driver.undial()
        assert world.settled(share) in ({}, {"10.0.0.1": "error"})
