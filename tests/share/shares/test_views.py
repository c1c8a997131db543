"""Which keys an answer has at each version, and what they say."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.shareservice import CAPABLE, Shares

BASE = {
    "id",
    "size",
    "availability_zone",
    "created_at",
    "status",
    "name",
    "description",
    "project_id",
    "snapshot_id",
    "share_network_id",
    "share_proto",
    "metadata",
    "share_type",
    "volume_type",
    "links",
    "is_public",
}
OLD = {"export_location", "export_locations"}
SINCE = {
    2: {"snapshot_support"},
    5: {"task_state"},
    6: {"share_type_name"},
    10: {"access_rules_status"},
    11: {"replication_type", "has_replicas"},
    16: {"user_id"},
    24: {"create_share_from_snapshot_support"},
    27: {"revert_to_snapshot_support"},
    31: {"share_group_id", "source_share_group_snapshot_member_id"},
    32: {"mount_snapshot_support"},
    54: {"progress"},
    69: {"is_soft_deleted", "scheduled_to_be_deleted_at"},
    80: {"source_backup_id"},
    90: {"encryption_key_ref"},
    99: {"snapshot_inherit_share_access_support"},
}
INSTANCE = {
    "id",
    "share_id",
    "availability_zone",
    "created_at",
    "host",
    "status",
    "share_network_id",
    "share_server_id",
}
INSTANCE_SINCE = {
    10: {"access_rules_status"},
    11: {"replica_state"},
    22: {"share_type_id"},
    30: {"cast_rules_to_readonly"},
    54: {"progress"},
    71: {"updated_at"},
}


def keys_at(minor: int, base: set[str], since: dict[int, set[str]]) -> set[str]:
    later = (keys for first, keys in since.items() if minor >= first)
    return base.union(OLD if minor < 9 else set(), *later)


def test_the_keys_of_a_share_at_every_version(shares: Shares) -> None:
    id = shares.share()
    for minor in range(100):
        version, expected = f"2.{minor}", keys_at(minor, BASE, SINCE)
        assert shares.ok("GET", f"/shares/{id}", version=version)["share"].keys() == expected, version
        (listed,) = shares.ok("GET", "/shares/detail", version=version)["shares"]
        assert listed.keys() == expected, version
        seen = shares.ok("GET", f"/shares/{id}", version=version, who="admin_a")["share"]
        assert seen.keys() == expected | {"host", "share_server_id"}, version
    assert shares.ok("GET", "/shares")["shares"][0].keys() == {"id", "name", "links"}


def test_the_keys_of_an_instance_at_every_version(shares: Shares) -> None:
    id = shares.share()
    for minor in range(3, 100):
        version, expected = f"2.{minor}", keys_at(minor, INSTANCE, INSTANCE_SINCE)
        (instance,) = shares.ok("GET", "/share_instances", version=version, who="admin")["share_instances"]
        assert instance.keys() == expected, version
        one = shares.ok("GET", f"/share_instances/{instance['id']}", version=version, who="admin")["share_instance"]
        assert one == instance
    assert instance["share_id"] == id
    (same,) = shares.ok("GET", f"/shares/{id}/instances", who="admin")["share_instances"]
    assert same == instance


def test_the_keys_of_export_locations(shares: Shares) -> None:
    id = shares.share()
    path = f"/shares/{id}/export_locations"
    for version, keys in (
        ("2.9", {"id", "path"}),
        ("2.14", {"id", "path", "preferred"}),
        ("2.87", {"id", "path", "preferred", "metadata"}),
    ):
        (one,) = shares.ok("GET", path, version=version)["export_locations"]
        assert one.keys() == keys
        shown = shares.ok("GET", f"{path}/{one['id']}", version=version)["export_location"]
        assert shown.keys() == keys | {"created_at", "updated_at"}
        mine = shares.ok("GET", path, version=version, who="admin_a")["export_locations"]
        assert [two.keys() for two in mine] == [keys | {"is_admin_only", "share_instance_id"}] * 2
    hidden = next(one["id"] for one in mine if one["is_admin_only"])
    shares.refused(404, "GET", f"{path}/{hidden}")
    shares.refused(404, "GET", path, version="2.8")


def test_the_type_is_a_name_and_later_an_id(shares: Shares) -> None:
    id = shares.share()
    old = shares.ok("GET", f"/shares/{id}", version="2.5")["share"]
    assert old["share_type"] == old["volume_type"] == "default"
    new = shares.ok("GET", f"/shares/{id}", version="2.6")["share"]
    assert new["share_type"] != "default"
    assert new["share_type_name"] == new["volume_type"] == "default"


def test_older_clients_see_the_paths_in_the_share(shares: Shares) -> None:
    id = shares.share()
    old = shares.ok("GET", f"/shares/{id}", version="2.8")["share"]
    assert [old["export_location"]] == old["export_locations"]
    mine = shares.ok("GET", f"/shares/{id}", version="2.8", who="admin_a")["share"]
    assert len(mine["export_locations"]) == 2


@pytest.mark.parametrize(("version", "status"), [("2.53", "creating"), ("2.54", "creating_from_snapshot")])
def test_a_copy_by_the_scheduler_has_a_status_of_its_own_from_254(shares: Shares, version: str, status: str) -> None:
    id = shares.share()
    shares.act(id, "reset_status", {"status": "creating_from_snapshot"}, who="admin")
    assert shares.ok("GET", f"/shares/{id}", version=version)["share"]["status"] == status
    shares.act(id, "reset_status", {"status": "available"}, who="admin")


def test_links_name_the_project_where_the_request_does(shares: Shares) -> None:
    id = shares.share()
    with_project = shares.ok("GET", f"/shares/{id}", version="2.59")["share"]["links"]
    without = shares.ok("GET", f"/shares/{id}")["share"]["links"]
    assert with_project[0]["href"].count("/") == without[0]["href"].count("/") + 1


# Lists


def names(shares: Shares, query: str, **more: Any) -> list[str]:
    return [one["name"] for one in shares.ok("GET", f"/shares{query}", **more)["shares"]]


def test_lists(shares: Shares) -> None:
    shares.type("other", CAPABLE)
    shares.share(name="a", metadata={"k": "1"})
    shares.share(name="b", description="the big one", share_type="other", size=2)
    foreign = shares.share(name="c", who="member_b")
    assert names(shares, "?sort_key=name&sort_dir=asc") == ["a", "b"]
    assert names(shares, "?name=b") == ["b"]
    assert names(shares, "?metadata={'k':'1'}") == ["a"]
    assert names(shares, "?share_type_id=other") == ["b"]
    assert names(shares, "?extra_specs={'snapshot_support':'True'}&sort_key=size") == ["b", "a"]
    assert names(shares, "?description~=big") == ["b"]
    assert names(shares, "?description~=big&sort_key=name&sort_dir=asc", version="2.35") == ["a", "b"]
    assert names(shares, "?status=error") == []
    assert names(shares, "?availability_zone=mars") == []
    assert names(shares, "?availability_zone=mars&sort_key=name", version="2.96") == ["b", "a"]
    assert names(shares, "?unknown=1&sort_key=name") == ["b", "a"]
    assert names(shares, "?host=elsewhere", who="admin_a") == []
    assert names(shares, "?all_tenants=1&sort_key=name", who="admin") == ["c", "b", "a"]
    assert names(shares, "?all_tenants=1&sort_key=name") == ["b", "a"]
    location = shares.ok("GET", f"/shares/{foreign}/export_locations", who="member_b")["export_locations"][0]
    assert names(shares, f"?all_tenants=1&export_location_id={location['id']}", who="admin") == ["c"]
    assert names(shares, f"?all_tenants=1&export_location_path={location['path']}", who="admin") == ["c"]
    shares.refused(400, "GET", "/shares?metadata=nonsense")
    shares.refused(400, "GET", "/shares?sort_key=nonsense")
    shares.refused(400, "GET", "/shares?sort_dir=nonsense")
    shares.refused(400, "GET", "/shares?limit=-1")
    page = shares.ok("GET", "/shares?limit=1&with_count=true&sort_key=name")
    assert (len(page["shares"]), page["count"], page["shares_links"][0]["rel"]) == (1, 2, "next")
    assert "count" not in shares.ok("GET", "/shares?with_count=true", version="2.41")
    assert names(shares, "?offset=1&sort_key=name") == ["a"]
    assert (
        len(shares.ok("GET", f"/share_instances?export_location_id={location['id']}", who="admin")["share_instances"])
        == 1
    )


def test_public_shares_are_read_by_others_and_changed_by_none_of_them(shares: Shares) -> None:
    id = shares.share(name="all", who="admin_a", is_public=True)
    assert names(shares, "", who="member_b") == []
    assert names(shares, "?is_public=true", who="member_b") == ["all"]
    assert shares.ok("GET", f"/shares/{id}", who="member_b")["share"]["is_public"] is True
    assert shares.ok("GET", f"/shares/{id}/export_locations", who="reader_b")["export_locations"]
    for method, path, body in (
        ("PUT", "", {"share": {"display_name": "mine"}}),
        ("DELETE", "", None),
        ("POST", "/action", {"extend": {"new_size": 2}}),
        ("POST", "/metadata", {"metadata": {"a": "b"}}),
        ("POST", "/action", {"soft_delete": None}),
    ):
        shares.refused(403, method, f"/shares/{id}{path}", body, who="member_b")
    private = shares.share()
    shares.refused(404, "GET", f"/shares/{private}", who="member_b")
    shares.refused(403, "GET", f"/shares/{private}/export_locations", who="member_b")
    shares.refused(404, "DELETE", f"/shares/{private}", who="member_b")


def test_readers_change_nothing(shares: Shares) -> None:
    id = shares.share()
    assert shares.ok("GET", f"/shares/{id}", who="reader_a")["share"]["id"] == id
    shares.refused(403, "DELETE", f"/shares/{id}", who="reader_a")
    shares.refused(403, "POST", "/shares", {"share": {"share_proto": "NFS", "size": 1}}, who="reader_a")
    shares.refused(403, "GET", "/share_instances", who="member_a")


def test_update(shares: Shares) -> None:
    id = shares.share(name="a")
    changed = shares.ok("PUT", f"/shares/{id}", {"share": {"display_name": "b", "display_description": "d"}})["share"]
    assert (changed["name"], changed["description"]) == ("b", "d")
    shares.refused(403, "PUT", f"/shares/{id}", {"share": {"is_public": True}})
    assert shares.ok("PUT", f"/shares/{id}", {"share": {"is_public": True}}, who="admin")["share"]["is_public"]
    assert not shares.ok("PUT", f"/shares/{id}", {"share": {"is_public": "false"}})["share"]["is_public"]
    shares.refused(422, "PUT", f"/shares/{id}", {})


def test_administrators_filter_by_host_and_share_server(shares: Shares) -> None:
    id = shares.share()
    for query, found in (("host=here@sim%23sim", [id]), ("host=there", []), ("share_server_id=x", [])):
        for path in ("/shares", "/shares/detail"):
            asked = f"{path}?all_tenants=1&{query}"
            assert [one["id"] for one in shares.ok("GET", asked, who="admin_a")["shares"]] == found
            shares.refused(403, "GET", f"{path}?{query}")
