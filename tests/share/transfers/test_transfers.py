"""Transfers: a share with all that hangs on it goes from one project to another, or stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pumice.kernel.db.base import new_id, utcnow
from pumice.kernel.db.scope import everything
from pumice.share.transfers import offers
from pumice.share.transfers.model import ShareTransfer
from tests.share.access.conftest import World, world
from tests.support.identity import PEOPLE, PROJECT_A, PROJECT_B
from tests.support.waiting import eventually

__all__ = ["world"]

SUMMARY = {"id", "name", "resource_type", "resource_id", "links"}
DETAIL = SUMMARY | {"created_at", "source_project_id", "destination_project_id", "accepted", "expires_at"}


def offer(world: World, share: str, **values: Any) -> dict[str, Any]:
    body = {"transfer": {"share_id": share, **values}}
    found: dict[str, Any] = world.ok("POST", "/share-transfers", body, status=202)["transfer"]
    return found


def accept(world: World, transfer: dict[str, Any], *, who: str = "member_b", **more: Any) -> None:
    body = {"accept": {"auth_key": transfer["auth_key"], **more}}
    world.ok("POST", f"/share-transfers/{transfer['id']}/accept", body, status=202, who=who)


def status_of(world: World, share: str) -> str:
    found: str = world.ok("GET", f"/shares/{share}", who="admin")["share"]["status"]
    return found


def snapshot_of(world: World, share: str) -> str:
    answer = world.ok("POST", "/snapshots", {"snapshot": {"share_id": share}}, status=202)
    id: str = answer["snapshot"]["id"]
    assert world.rest(f"/snapshots/{id}") == "available"
    return id


class TestOffering:
    def test_answers(self, world: World) -> None:
        share = world.share()
        made = offer(world, share, name="to B")
        assert set(made) == DETAIL | {"auth_key"}
        assert len(made["auth_key"]) == 16
        assert (made["resource_type"], made["resource_id"], made["name"]) == ("share", share, "to B")
        assert (made["source_project_id"], made["destination_project_id"]) == (PROJECT_A, None)
        assert made["accepted"] is False
        shown = world.ok("GET", f"/share-transfers/{made['id']}")["transfer"]
        assert shown == {name: value for name, value in made.items() if name != "auth_key"}
        assert status_of(world, share) == "awaiting_transfer"
        with world.service.db.read() as tx:
            row = everything().get(tx, ShareTransfer, made["id"])
            assert made["auth_key"] not in (row.key_hash, row.salt)
        assert world.call("GET", f"/share-transfers/{made['id']}", version="2.76").status_code == 404

    def test_lists(self, world: World) -> None:
        first = offer(world, world.share(), name="first")
        second = offer(world, world.share(), name="second")
        rows = world.ok("GET", "/share-transfers")["transfers"]
        assert [(set(row), row["id"]) for row in rows] == [(SUMMARY, second["id"]), (SUMMARY, first["id"])]
        assert [set(row) for row in world.ok("GET", "/share-transfers/detail")["transfers"]] == [DETAIL, DETAIL]

        def names(query: str, who: str = "member_a") -> list[str]:
            return [row["name"] for row in world.ok("GET", f"/share-transfers?{query}", who=who)["transfers"]]

        assert names("name=first") == ["first"]
        assert names("name~=sec") == ["second"]
        assert names("sort_key=name&sort_dir=asc") == ["first", "second"]
        assert names("limit=1&offset=1") == ["first"]
        assert names("", "member_b") == []
        assert names("all_tenants=1", "member_b") == []
        assert names("", "admin") == []
        assert names("all_tenants=1", "admin") == ["second", "first"]

    def test_what_is_refused(self, world: World) -> None:
        share = world.share()
        body: Any
        for body in ({}, {"transfer": {}}, {"transfer": {"share_id": "x"}}, {"transfer": {"share_id": None}}):
            world.refused(400, "POST", "/share-transfers", body)
        wanted = {"transfer": {"share_id": share}}
        world.refused(404, "POST", "/share-transfers", {"transfer": {"share_id": new_id()}})
        world.refused(404, "POST", "/share-transfers", wanted, who="member_b")
        world.refused(403, "POST", "/share-transfers", wanted, who="reader_a")
        snapshot = snapshot_of(world, share)
        reset = {"reset_status": {"status": "error"}}
        world.ok("POST", f"/snapshots/{snapshot}/action", reset, status=202, who="admin_a")
        world.refused(400, "POST", "/share-transfers", wanted)
        assert status_of(world, share) == "available"
        world.ok(
            "POST", f"/snapshots/{snapshot}/action", {"reset_status": {"status": "available"}}, status=202, who="admin"
        )
        offer(world, share)
        world.refused(400, "POST", "/share-transfers", wanted)

    def test_an_offered_share_does_nothing_else(self, world: World) -> None:
        share = world.share()
        snapshot = snapshot_of(world, share)
        offer(world, share)
        assert world.ok("GET", f"/snapshots/{snapshot}")["snapshot"]["status"] == "awaiting_transfer"
        world.refused(403, "DELETE", f"/shares/{share}")
        world.refused(400, "POST", f"/shares/{share}/action", {"extend": {"new_size": 2}})
        world.refused(400, "DELETE", f"/snapshots/{snapshot}")
        rule = world.allow(share, "10.0.0.1")
        assert world.rule_rests(rule["id"]) == "active"


class TestEnding:
    def test_withdrawn(self, world: World) -> None:
        share = world.share()
        snapshot = snapshot_of(world, share)
        path = f"/share-transfers/{offer(world, share)['id']}"
        world.refused(404, "DELETE", path, who="member_b")
        world.refused(403, "DELETE", path, who="reader_a")
        world.ok("DELETE", path)
        world.refused(404, "GET", path)
        assert status_of(world, share) == "available"
        assert world.ok("GET", f"/snapshots/{snapshot}")["snapshot"]["status"] == "available"

    def test_one_whose_share_was_reset_is_not_withdrawn(self, world: World) -> None:
        share = world.share()
        made = offer(world, share)
        world.act(share, "reset_status", {"status": "error"}, who="admin_a")
        world.refused(400, "DELETE", f"/share-transfers/{made['id']}")
        body = {"accept": {"auth_key": made["auth_key"]}}
        world.refused(400, "POST", f"/share-transfers/{made['id']}/accept", body, who="member_b")

    def test_a_deleted_share_takes_its_offer_along(self, world: World) -> None:
        share = world.share()
        made = offer(world, share)
        world.act(share, "force_delete", who="admin_a")
        assert world.rest(f"/shares/{share}") == "gone"
        world.refused(404, "GET", f"/share-transfers/{made['id']}")

    def test_expired(self, tmp_path: Path) -> None:
        with World(tmp_path, transfer_retention_time=1, check_for_expired_transfers=1) as world:
            share, other = world.share(), world.share()
            made, second = offer(world, share), offer(world, other)
            world.act(other, "reset_status", {"status": "error"}, who="admin_a")
            assert made["expires_at"] > utcnow().isoformat()
            eventually(lambda: status_of(world, share) == "available")
            eventually(lambda: world.ok("GET", "/share-transfers")["transfers"] == [])
            assert status_of(world, other) == "error"
            for one in (made, second):
                body = {"accept": {"auth_key": one["auth_key"]}}
                world.refused(400, "POST", f"/share-transfers/{one['id']}/accept", body, who="member_b")

    def test_an_expired_offer_is_not_accepted_even_before_it_is_removed(self, world: World) -> None:
        share = world.share()
        made = offer(world, share)

        def late(tx: Any) -> None:
            everything().get(tx, ShareTransfer, made["id"]).expires_at = utcnow()

        world.service.db.write(late)
        body = {"accept": {"auth_key": made["auth_key"]}}
        world.refused(400, "POST", f"/share-transfers/{made['id']}/accept", body, who="member_b")
        offers.expire(world.service.db)
        assert status_of(world, share) == "available"


class TestAccepting:
    def test_everything_goes_along(self, world: World) -> None:
        share = world.share(size=3, metadata={"k": "v"})
        snapshot = snapshot_of(world, share)
        rule = world.allow(share, "10.0.0.1")
        world.settled(share)
        made = offer(world, share)
        accept(world, made)
        mine = world.ok("GET", f"/shares/{share}", who="member_b")["share"]
        assert (mine["project_id"], mine["user_id"]) == (PROJECT_B, PEOPLE["member_b"].user_id)
        assert (mine["status"], mine["metadata"]) == ("available", {"k": "v"})
        assert world.ok("GET", f"/snapshots/{snapshot}", who="member_b")["snapshot"]["status"] == "available"
        assert world.ok("GET", f"/share-access-rules/{rule['id']}", who="member_b")["access"]["state"] == "active"
        assert len(world.ok("GET", f"/shares/{share}/export_locations", who="member_b")["export_locations"]) == 1
        for path in (f"/shares/{share}", f"/snapshots/{snapshot}", f"/share-access-rules/{rule['id']}"):
            assert world.call("GET", path).status_code == 404
        world.refused(404, "GET", f"/share-transfers/{made['id']}")
        assert world.enforced() == {"ip 10.0.0.1 rw"}
        assert world.all_wrong() == []
        world.ok("DELETE", f"/snapshots/{snapshot}", status=202, who="member_b")
        assert world.rest(f"/snapshots/{snapshot}") == "gone"
        world.ok("DELETE", f"/shares/{share}", status=202, who="member_b")
        assert world.rest(f"/shares/{share}") == "gone"
        assert world.all_wrong() == []

    def test_rules_are_cleared_where_asked_for(self, world: World) -> None:
        share = world.share()
        snapshot = snapshot_of(world, share)
        rule = world.allow(share, "10.0.0.1", lock_deletion=True)
        allow = {"allow_access": {"access_type": "ip", "access_to": "10.0.0.2"}}
        world.ok("POST", f"/snapshots/{snapshot}/action", allow, status=202)
        world.settled(share)
        eventually(lambda: world.enforced() == {"ip 10.0.0.1 rw", "ip 10.0.0.2 ro"})
        accept(world, offer(world, share), clear_access_rules=True)
        assert world.rule_rests(rule["id"]) == "gone"
        eventually(lambda: world.enforced() == set())
        assert world.ok("GET", "/resource-locks?all_projects=1", who="admin")["resource_locks"] == []

    def test_the_givers_locks_do_not_bind_the_new_owner(self, world: World) -> None:
        share = world.share()
        for who in ("member_a", "admin"):
            body = {"resource_lock": {"resource_id": share, "resource_type": "share"}}
            world.ok("POST", "/resource-locks", body, who=who)
        accept(world, offer(world, share))
        (left,) = world.ok("GET", "/resource-locks?all_projects=1", who="admin")["resource_locks"]
        assert left["lock_context"] == "admin"

    def test_the_wrong_key_and_the_wrong_offer(self, world: World) -> None:
        made = offer(world, world.share())
        path = f"/share-transfers/{made['id']}/accept"
        body: Any
        for body in (
            {},
            {"accept": {}},
            {"accept": {"auth_key": ""}},
            {"accept": {"auth_key": 1}},
            {"accept": {"auth_key": "f" * 16}},
            {"accept": {"auth_key": made["auth_key"], "clear_access_rules": "maybe"}},
        ):
            world.refused(400, "POST", path, body, who="member_b")
        body = {"accept": {"auth_key": made["auth_key"]}}
        world.refused(400, "POST", f"/share-transfers/{new_id()}/accept", body, who="member_b")
        world.refused(403, "POST", path, body, who="reader_b")
        accept(world, made)
        world.refused(400, "POST", path, body, who="member_b")

    def test_a_private_type_of_others(self, world: World) -> None:
        id = world.type("private", {"driver_handles_share_servers": "False"}, is_public=False)
        access = {"addProjectAccess": {"project": PROJECT_A}}
        world.ok("POST", f"/types/{id}/action", access, status=202, who="admin")
        made = offer(world, world.share(share_type="private"))
        body = {"accept": {"auth_key": made["auth_key"]}}
        path = f"/share-transfers/{made['id']}/accept"
        assert "private" in world.refused(400, "POST", path, body, who="member_b")
        world.ok("POST", f"/types/{id}/action", {"addProjectAccess": {"project": PROJECT_B}}, status=202, who="admin")
        accept(world, made)

    def test_a_quota_that_is_too_small(self, world: World) -> None:
        share = world.share(size=3)
        snapshot_of(world, share)
        made = offer(world, share)
        path, body = f"/share-transfers/{made['id']}/accept", {"accept": {"auth_key": made["auth_key"]}}
        enough = {"shares": 1, "gigabytes": 3, "snapshots": 1, "snapshot_gigabytes": 3}
        for resource, limit in enough.items():
            less = {"quota_set": {**enough, resource: limit - 1}}
            world.ok("PUT", f"/quota-sets/{PROJECT_B}", less, who="admin")
            answer = world.call("POST", path, body, who="member_b")
            assert (answer.status_code, answer.headers["Retry-After"]) == (413, "0")
            assert status_of(world, share) == "awaiting_transfer"
            assert world.all_wrong() == []
        world.ok("PUT", f"/quota-sets/{PROJECT_B}", {"quota_set": enough}, who="admin")
        accept(world, made)
        assert world.all_wrong() == []


def test_notifications(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def listen(_tx: Any, _operation_id: str, event_type: str, payload: Any, **_more: Any) -> None:
        if "transfer" in event_type:
            told.append(event_type)
            assert payload["share_id"] == share

    share = world.share()
    monkeypatch.setattr(type(world.service.notifier), "enabled", True)
    monkeypatch.setattr(world.service.notifier, "emit", listen)
    world.ok("DELETE", f"/share-transfers/{offer(world, share)['id']}")
    accept(world, offer(world, share))
    assert told == [
        f"share.transfer.{what}.{phase}"
        for what in ("create", "delete", "create", "accept")
        for phase in ("start", "end")
    ]
