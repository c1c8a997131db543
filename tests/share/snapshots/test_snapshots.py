from __future__ import annotations

import pytest

from pumice.kernel.db.base import new_id
from pumice.share.snapshots import handlers
from tests.share.snapshots.conftest import World
from tests.support.identity import PEOPLE, PROJECT_A
from tests.support.waiting import eventually

DETAIL = {
    "id",
    "name",
    "links",
    "share_id",
    "share_size",
    "created_at",
    "status",
    "description",
    "size",
    "share_proto",
}


def test_a_snapshot_is_made_and_shown(world: World) -> None:
    share = world.share(size=2)
    body = {"snapshot": {"share_id": share, "name": "eve", "description": "d", "metadata": {"a": "b"}, "force": True}}
    made = world.ok("POST", "/snapshots", body, status=202)["snapshot"]
    assert made["status"] == "creating"
    assert world.rest(f"/snapshots/{made['id']}") == "available"
    shown = world.shown(made["id"])
    assert (shown["share_id"], shown["size"], shown["share_size"], shown["share_proto"]) == (share, 2, 2, "NFS")
    assert (shown["name"], shown["description"], shown["metadata"]) == ("eve", "d", {"a": "b"})
    assert (shown["project_id"], shown["user_id"]) == (PROJECT_A, PEOPLE["member_a"].user_id)
    assert shown["links"][0]["href"].endswith(f"/v2/snapshots/{made['id']}")
    assert world.used() == {"shares": 1, "gigabytes": 2, "snapshots": 1, "snapshot_gigabytes": 2}
    assert world.driver.inventory().snapshots == {world.instance(made["id"])["id"]}


def test_what_is_shown_depends_on_version_and_caller(world: World) -> None:
    id = world.snapshot(world.share())
    owner = {"user_id", "project_id"}
    for version, who, more in (
        ("2.0", "member_a", set()),
        ("2.11", "admin_a", set()),
        ("2.12", "admin_a", {"provider_location"}),
        ("2.16", "member_a", set()),
        ("2.17", "member_a", owner),
        ("2.72", "member_a", owner),
        ("2.73", "member_a", owner | {"metadata"}),
        ("2.99", "admin_a", owner | {"metadata", "provider_location"}),
    ):
        assert set(world.shown(id, version=version, who=who)) == DETAIL | more, version


def test_snapshots_are_listed(world: World) -> None:
    share = world.share()
    ids = [world.snapshot(share, name=f"n{number}", metadata={"k": str(number)}) for number in range(3)]

    def listed(query: str, **more: str) -> list[str]:
        return [one["id"] for one in world.ok("GET", f"/snapshots{query}", **more)["snapshots"]]

    assert listed("") == ids[::-1]
    assert listed("?sort_key=name&sort_dir=asc") == ids
    assert listed("?name=n1") == [ids[1]]
    assert listed("?name~=2") == [ids[2]]
    assert listed("?metadata={'k':'0'}") == [ids[0]]
    assert listed("?share_id=other") == []
    assert listed("?size=1&status=available&offset=1&limit=1") == [ids[1]]
    assert listed("", who="member_b") == []
    for query in ("?all_tenants=1", "?all_tenants", "?all_tenants=yes-please"):
        assert set(listed(query, who="admin")) == set(ids), query
        assert listed(query, who="member_b") == []
    assert listed("?all_tenants=false", who="admin") == []
    page = world.ok("GET", "/snapshots/detail?limit=2&with_count=true")
    assert (len(page["snapshots"]), page["count"], page["share_snapshots_links"][0]["rel"]) == (2, 3, "next")
    assert set(world.ok("GET", "/snapshots")["snapshots"][0]) == {"id", "name", "links"}
    world.refused(400, "GET", "/snapshots?sort_key=nothing")


def test_a_snapshot_is_renamed_and_deleted(world: World) -> None:
    share = world.share()
    id = world.snapshot(share, name="old")
    change = {"snapshot": {"display_name": "new", "display_description": "text"}}
    changed = world.ok("PUT", f"/snapshots/{id}", change)["snapshot"]
    assert (changed["name"], changed["description"]) == ("new", "text")
    world.refused(422, "PUT", f"/snapshots/{id}", {})
    world.refused(403, "DELETE", f"/shares/{share}")
    world.refused(404, "DELETE", f"/snapshots/{id}", who="member_b")
    world.refused(403, "DELETE", f"/snapshots/{id}", who="reader_a")
    world.ok("DELETE", f"/snapshots/{id}", status=202)
    assert world.rest(f"/snapshots/{id}") == "gone"
    assert world.used()["snapshots"] == 0
    assert world.driver.inventory().snapshots == frozenset()


def test_what_cannot_be_snapshotted(world: World) -> None:
    share = world.share()
    body = {"snapshot": {"share_id": share}}
    world.refused(422, "POST", "/snapshots", {})
    world.refused(404, "POST", "/snapshots", {"snapshot": {"share_id": "no-such-share"}})
    world.refused(404, "POST", "/snapshots", body, who="member_b")
    world.refused(403, "POST", "/snapshots", body, who="reader_a")
    world.refused(400, "POST", "/snapshots", {"snapshot": {"share_id": share, "name": "n" * 256}})
    world.type("bare", {"driver_handles_share_servers": "False"})
    world.refused(422, "POST", "/snapshots", {"snapshot": {"share_id": world.share(share_type="bare")}})
    world.act(share, "reset_status", {"status": "error"}, who="admin_a")
    assert "available" in world.refused(400, "POST", "/snapshots", body)
    world.act(share, "reset_status", {"status": "available"}, who="admin_a")
    world.act(share, "soft_delete")
    world.refused(403, "POST", "/snapshots", body)


def test_others_public_shares_are_not_snapshotted(world: World) -> None:
    share = world.share(who="admin_a", is_public=True)
    world.refused(403, "POST", "/snapshots", {"snapshot": {"share_id": share}}, who="member_b")


def test_quotas_refuse_a_snapshot(world: World) -> None:
    share = world.share()
    quota = f"/quota-sets/{PROJECT_A}"
    world.ok("PUT", quota, {"quota_set": {"snapshots": 0}}, who="admin")
    assert "snapshots" in world.refused(413, "POST", "/snapshots", {"snapshot": {"share_id": share}})
    world.ok("PUT", quota, {"quota_set": {"snapshots": 5, "snapshot_gigabytes": 0}}, who="admin")
    assert "snapshot_gigabytes" in world.refused(413, "POST", "/snapshots", {"snapshot": {"share_id": share}})
    assert world.used()["snapshots"] == 0


def test_a_failed_create_counts_until_it_is_deleted(world: World) -> None:
    share = world.share()
    world.driver.dial("create_snapshot", fail="no luck")
    id = world.ok("POST", "/snapshots", {"snapshot": {"share_id": share}}, status=202)["snapshot"]["id"]
    assert world.rest(f"/snapshots/{id}") == "error"
    assert world.used()["snapshots"] == 1
    (message,) = world.ok("GET", f"/messages?resource_id={id}")["messages"]
    assert (message["resource_type"], message["action_id"], message["detail_id"]) == ("SHARE_SNAPSHOT", "002", "001")
    assert message["user_message"].count(": ") == 1
    world.ok("DELETE", f"/snapshots/{id}", status=202)
    assert world.rest(f"/snapshots/{id}") == "gone"


def test_a_deletion_that_failed_can_be_asked_for_again_by_the_owner(world: World) -> None:
    id = world.snapshot(world.share())
    world.driver.dial("delete_snapshot", fail="busy", fail_times=1)
    world.ok("DELETE", f"/snapshots/{id}", status=202)
    assert world.rest(f"/snapshots/{id}") == "error_deleting"
    world.ok("DELETE", f"/snapshots/{id}", status=202)
    assert world.rest(f"/snapshots/{id}") == "gone"


@pytest.mark.parametrize(("version", "prefix"), [("2.6", "os-"), ("2.7", "")])
def test_administrators_reset_and_force(world: World, version: str, prefix: str) -> None:
    id = world.snapshot(world.share())
    path = f"/snapshots/{id}/action"
    reset = {f"{prefix}reset_status": {"status": "error_deleting"}}
    world.refused(403, "POST", path, reset, version=version)
    world.ok("POST", path, reset, status=202, who="admin_a", version=version)
    assert world.shown(id)["status"] == world.instance(id)["status"] == "error_deleting"
    wrong = {f"{prefix}reset_status": {"status": "extending"}}
    world.refused(400, "POST", path, wrong, who="admin_a", version=version)
    stays = {f"{prefix}reset_status": {"status": "migrating"}}
    world.ok("POST", path, stays, status=202, who="admin_a", version=version)
    world.refused(400, "DELETE", f"/snapshots/{id}")
    world.ok("POST", path, {f"{prefix}force_delete": None}, status=202, who="admin_a", version=version)
    assert world.rest(f"/snapshots/{id}") == "gone"


def test_a_forced_deletion_takes_a_create_away(world: World) -> None:
    share = world.share()
    world.driver.dial("create_snapshot", hang=True)
    id = world.ok("POST", "/snapshots", {"snapshot": {"share_id": share}}, status=202)["snapshot"]["id"]
    eventually(lambda: world.driver.calls["create_snapshot"])
    world.ok("POST", f"/snapshots/{id}/action", {"force_delete": None}, status=202, who="admin_a")
    world.driver.release()
    assert world.rest(f"/snapshots/{id}") == "gone"


@pytest.mark.parametrize("action", ["force_delete", "unmanage"])
def test_one_that_has_gone_since_it_was_read_is_not_found(
    world: World, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    id, begin = world.snapshot(world.share()), handlers.begin
    monkeypatch.setattr(handlers, "begin", lambda tx, req, kind, _: begin(tx, req, kind, new_id()))
    world.refused(404, "POST", f"/snapshots/{id}/action", {action: None}, who="admin_a")


def test_metadata_of_snapshots(world: World) -> None:
    id = world.snapshot(world.share(), metadata={"a": "1"})
    path = f"/snapshots/{id}/metadata"
    world.refused(404, "GET", path, version="2.72")
    assert world.ok("POST", path, {"metadata": {"b": "2"}}) == {"metadata": {"a": "1", "b": "2"}}
    assert world.ok("POST", f"{path}/b", {"metadata": {"b": "3"}}) == {"metadata": {"b": "3"}}
    assert world.ok("POST", f"{path}/b", {"meta": {"b": "4"}}) == {"metadata": {"b": "4"}}
    assert world.ok("GET", f"{path}/b") == {"meta": {"b": "4"}}
    assert world.ok("PUT", path, {"metadata": {"c": "x" * 1023}})["metadata"] == {"c": "x" * 1023}
    for wrong in ({"c": "x" * 1024}, {"c": ""}, {"k" * 256: "v"}, {"": "v"}):
        world.refused(400, "PUT", path, {"metadata": wrong})
    world.refused(400, "POST", f"{path}/b", {"metadata": {"c": "3"}})
    world.ok("DELETE", f"{path}/c")
    world.refused(404, "DELETE", f"{path}/c")
    assert world.ok("GET", path) == {"metadata": {}}


def test_instances_are_for_administrators(world: World) -> None:
    share = world.share()
    id = world.snapshot(share)
    found = world.instance(id)
    assert set(found) == {
        "id",
        "snapshot_id",
        "status",
        "created_at",
        "updated_at",
        "share_id",
        "share_instance_id",
        "progress",
        "provider_location",
    }
    assert (found["share_id"], found["progress"], found["status"]) == (share, "100%", "available")
    path = f"/snapshot-instances/{found['id']}"
    assert world.ok("GET", path, who="admin")["snapshot_instance"] == found
    summaries = world.ok("GET", "/snapshot-instances", who="admin")["snapshot_instances"]
    assert summaries == [{"id": found["id"], "snapshot_id": id, "status": "available"}]
    assert world.ok("GET", "/snapshot-instances?snapshot_id=other", who="admin") == {"snapshot_instances": []}
    for wanted in ("/snapshot-instances", "/snapshot-instances/detail", path):
        world.refused(403, "GET", wanted)
    world.refused(404, "GET", path, who="admin_a", version="2.18")
    world.ok("POST", f"{path}/action", {"reset_status": {"status": "error"}}, status=202, who="admin")
    assert world.shown(id)["status"] == "error"


def test_mountable_snapshots_say_where(world: World) -> None:
    id = world.snapshot(world.share())
    path = f"/snapshots/{id}/export-locations"
    (location,) = world.ok("GET", path)["share_snapshot_export_locations"]
    assert set(location) == {"id", "path", "links"}
    one = world.ok("GET", f"{path}/{location['id']}")["share_snapshot_export_location"]
    assert set(one) == {"id", "path", "links", "created_at", "updated_at"}
    both = world.ok("GET", path, who="admin_a")["share_snapshot_export_locations"]
    assert {one["is_admin_only"] for one in both} == {False, True}
    seen = next(one for one in both if not one["is_admin_only"])
    assert seen["share_snapshot_instance_id"] == world.instance(id)["id"]
    of_instance = f"/snapshot-instances/{seen['share_snapshot_instance_id']}/export-locations"
    assert world.ok("GET", of_instance, who="admin_a")["share_snapshot_export_locations"] == both
    shown = world.ok("GET", f"{of_instance}/{seen['id']}", who="admin_a")["share_snapshot_export_location"]
    assert shown["path"] == location["path"]
    world.refused(404, "GET", f"{path}/nothing")
    world.refused(404, "GET", path, who="member_b")
    world.refused(404, "GET", path, version="2.31")
    world.type("inside", {"driver_handles_share_servers": "False", "snapshot_support": "True"})
    hidden = world.snapshot(world.share(share_type="inside"))
    assert world.ok("GET", f"/snapshots/{hidden}/export-locations") == {"share_snapshot_export_locations": []}


def test_a_snapshot_that_is_let_go_can_be_taken_over_again(world: World) -> None:
    share = world.share(size=3)
    id = world.snapshot(share)
    location = world.instance(id)["provider_location"]
    world.refused(403, "POST", f"/snapshots/{id}/action", {"unmanage": None})
    world.ok("POST", f"/snapshots/{id}/action", {"unmanage": None}, status=202, who="admin_a")
    assert world.rest(f"/snapshots/{id}") == "gone"
    assert world.used()["snapshots"] == 0
    body = {"snapshot": {"share_id": share, "provider_location": location, "display_name": "back"}}
    made = world.ok("POST", "/snapshots/manage", body, status=202, who="admin_a")["snapshot"]
    assert made["status"] == "manage_starting"
    assert world.rest(f"/snapshots/{made['id']}") == "available"
    assert world.shown(made["id"])["name"] == "back"
    assert world.used() == {"shares": 1, "gigabytes": 3, "snapshots": 1, "snapshot_gigabytes": 3}
    world.refused(409, "POST", "/snapshots/manage", body, who="admin_a")


def test_what_cannot_be_taken_over(world: World) -> None:
    share = world.share()
    good = {"share_id": share, "provider_location": "somewhere"}
    for wrong in ({}, {"share_id": share}, good | {"provider_location": ""}, good | {"share_id": 5}):
        world.refused(422, "POST", "/snapshots/manage", {"snapshot": wrong}, who="admin_a")
    world.refused(422, "POST", "/snapshots/manage", {}, who="admin_a")
    unknown = {"snapshot": good | {"share_id": "no-share"}}
    world.refused(404, "POST", "/snapshots/manage", unknown, who="admin_a")
    world.refused(403, "POST", "/snapshots/manage", {"snapshot": good})
    world.refused(404, "POST", "/snapshots/manage", {"snapshot": good}, who="admin_a", version="2.11")
    made = world.ok("POST", "/snapshots/manage", {"snapshot": good}, status=202, who="admin_a")["snapshot"]
    assert world.rest(f"/snapshots/{made['id']}") == "manage_error"
    world.ok("POST", f"/snapshots/{made['id']}/action", {"unmanage": None}, status=202, who="admin_a")
    assert world.rest(f"/snapshots/{made['id']}") == "gone"
    busy = world.snapshot(share)
    stays = {"reset_status": {"status": "migrating"}}
    world.ok("POST", f"/snapshots/{busy}/action", stays, status=202, who="admin_a")
    world.refused(403, "POST", f"/snapshots/{busy}/action", {"unmanage": None}, who="admin_a")
