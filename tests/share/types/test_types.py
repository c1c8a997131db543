from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.support.identity import PROJECT_A, PROJECT_B
from tests.support.shareservice import Shares

DHSS = {"driver_handles_share_servers": "False"}
CAPABILITIES = (
    "snapshot_support",
    "create_share_from_snapshot_support",
    "revert_to_snapshot_support",
    "mount_snapshot_support",
)


@pytest.fixture
def shares(tmp_path: Path) -> Iterator[Shares]:
    with Shares(tmp_path) as made:
        yield made


def create(shares: Shares, name: str, specs: Any = DHSS, *, version: str = "2.99", **values: Any) -> dict[str, Any]:
    body = {"share_type": {"name": name, "extra_specs": specs, **values}}
    answer = shares.ok("POST", "/types", body, who="admin", version=version)
    assert answer["share_type"] == answer["volume_type"]
    made: dict[str, Any] = answer["share_type"]
    return made


def refuse(shares: Shares, status: int, version: str = "2.99", **values: Any) -> str:
    body = {"share_type": {"name": "t", "extra_specs": DHSS, **values}}
    return shares.refused(status, "POST", "/types", body, who="admin", version=version)


def test_a_type_is_made_and_shown(shares: Shares) -> None:
    specs = DHSS | {"snapshot_support": "<is> True", "vendor:thing": "x", "size": "small"}
    made = create(shares, "fast", specs, description="d")
    assert made["extra_specs"] == specs
    assert (made["required_extra_specs"], made["description"], made["is_default"]) == (DHSS, "d", False)
    assert made["share_type_access:is_public"] is True
    shown = shares.ok("GET", f"/types/{made['id']}")["share_type"]
    assert shown["extra_specs"] == DHSS | {
        "snapshot_support": "<is> True",
        "create_share_from_snapshot_support": False,
        "revert_to_snapshot_support": False,
        "mount_snapshot_support": False,
        "snapshot_inherit_share_access_support": False,
    }
    older = shares.ok("GET", f"/types/{made['id']}", version="2.23")["volume_type"]
    assert older["extra_specs"] == DHSS | {"snapshot_support": "<is> True"}
    assert shares.ok("GET", f"/types/{made['id']}", who="admin")["share_type"]["extra_specs"] == specs
    shares.refused(403, "POST", "/types", {"share_type": {"name": "x", "extra_specs": DHSS}})
    shares.refused(404, "GET", "/types/nothing")


def test_keys_of_a_type_by_version(shares: Shares) -> None:
    made = create(shares, "fast", version="2.6", **{"os-share-type-access:is_public": False})
    base = {"id", "name", "extra_specs", "required_extra_specs"}
    for version, more in (
        ("2.0", {"os-share-type-access:is_public"}),
        ("2.6", {"os-share-type-access:is_public"}),
        ("2.7", {"share_type_access:is_public"}),
        ("2.41", {"share_type_access:is_public", "description"}),
        ("2.46", {"share_type_access:is_public", "description", "is_default"}),
    ):
        shown = shares.ok("GET", f"/types/{made['id']}", who="admin", version=version)["share_type"]
        assert set(shown) == base | more, version
    assert shown["share_type_access:is_public"] is False


def test_what_a_new_type_may_not_be(shares: Shares) -> None:
    create(shares, "fast")
    refuse(shares, 409, name="fast")
    for name in ("", "  ", "n" * 256, None, 5):
        refuse(shares, 400, name=name)
    assert "driver_handles_share_servers" in refuse(shares, 400, extra_specs={})
    for key, value in (
        ("driver_handles_share_servers", "maybe"),
        ("snapshot_support", "perhaps"),
        ("replication_type", "sometimes"),
        ("availability_zones", ","),
        ("provisioning:min_share_size", "0"),
        ("provisioning:max_share_size", "big"),
        ("mount_point_name_support", "x"),
        ("encryption_support", "all"),
        ("free", ""),
        ("free", None),
        ("free", "x" * 256),
        ("bad key", "x"),
    ):
        refuse(shares, 400, extra_specs=DHSS | {key: value})
    refuse(shares, 400, "2.40", description="d")
    refuse(shares, 400, description="d" * 256)
    refuse(shares, 400, **{"share_type_access:is_public": "maybe"})
    shares.refused(400, "POST", "/types", {}, who="admin")
    made = shares.ok("POST", "/types", {"volume_type": {"name": "old", "extra_specs": DHSS}}, who="admin")
    assert made["share_type"]["name"] == "old"
    made = create(shares, "true", {"driver_handles_share_servers": True, "provisioning:mount_point_prefix": ""})
    assert made["required_extra_specs"] == {"driver_handles_share_servers": "True"}


def test_snapshots_were_implied_before_they_could_be_left_out(shares: Shares) -> None:
    assert create(shares, "old", version="2.23")["extra_specs"] == DHSS | {"snapshot_support": "True"}
    assert create(shares, "new", version="2.24")["extra_specs"] == DHSS


def test_a_type_is_changed_from_2_50_on(shares: Shares) -> None:
    made = create(shares, "fast", description="d")
    path = f"/types/{made['id']}"
    shares.refused(404, "PUT", path, {"share_type": {"name": "x"}}, who="admin", version="2.49")
    change = {"name": "faster", "description": "e", "share_type_access:is_public": False}
    changed = shares.ok("PUT", path, {"share_type": change}, who="admin")["share_type"]
    assert {key: changed[key] for key in change} == change
    assert shares.ok("PUT", path, {"share_type": {"name": None, "description": "f"}}, who="admin")["share_type"][
        "name"
    ] == ("faster")
    emptied = shares.ok("PUT", path, {"share_type": {"description": ""}}, who="admin")["share_type"]
    assert (emptied["name"], emptied["description"]) == ("faster", None)
    for wrong in ({}, {"name": " "}, {"name": None}, {"name": "n" * 256}, {"share_type_access:is_public": "x"}):
        shares.refused(400, "PUT", path, {"share_type": wrong}, who="admin")
    create(shares, "other")
    shares.refused(409, "PUT", path, {"share_type": {"name": "other"}}, who="admin")
    shares.refused(403, "PUT", path, {"share_type": {"name": "x"}})


def test_types_are_listed(shares: Shares) -> None:
    create(shares, "open", DHSS | {"snapshot_support": "true", "secret": "x"})
    create(shares, "closed", **{"share_type_access:is_public": False})

    def listed(query: str = "", **more: str) -> set[str]:
        answer = shares.ok("GET", f"/types{query}", **more)
        assert answer["share_types"] == answer["volume_types"]
        return {one["name"] for one in answer["share_types"]}

    assert listed() == listed("?is_public=all") == listed(who="admin") == {"default", "open"}
    assert listed("?is_public=all", who="admin") == {"default", "open", "closed"}
    assert listed("?is_public=false", who="admin") == {"closed"}
    shares.refused(400, "GET", "/types?is_public=maybe", who="admin")
    assert listed("?extra_specs={'snapshot_support':'True'}") == {"default", "open"}
    assert listed("?extra_specs={'secret':'x'}", who="admin") == {"open"}
    assert listed("?extra_specs={'secret':'x'}") == set()
    shares.refused(400, "GET", "/types?extra_specs={'snapshot_support':'True'}", version="2.42")
    shares.refused(400, "GET", "/types?extra_specs=nonsense")
    shares.refused(400, "GET", "/types?extra_specs={'snapshot_support':'x'}")


def test_the_default_type(shares: Shares) -> None:
    assert shares.ok("GET", "/types/default")["share_type"]["is_default"] is True
    id = shares.ok("GET", "/types/default")["share_type"]["id"]
    shares.ok("DELETE", f"/types/{id}", status=202, who="admin")
    shares.refused(404, "GET", "/types/default")


def test_a_type_in_use_stays(shares: Shares) -> None:
    made = create(shares, "fast")
    share = shares.share(share_type="fast")
    shares.refused(400, "DELETE", f"/types/{made['id']}", who="admin")
    shares.refused(403, "DELETE", f"/types/{made['id']}")
    shares.ok("DELETE", f"/shares/{share}", status=202)
    assert shares.rest(f"/shares/{share}") == "gone"
    shares.ok("DELETE", f"/types/{made['id']}", status=202, who="admin")
    shares.refused(404, "DELETE", f"/types/{made['id']}", who="admin")


def test_who_may_use_a_private_type(shares: Shares) -> None:
    made = create(shares, "closed", **{"share_type_access:is_public": False})
    path, access = f"/types/{made['id']}", f"/types/{made['id']}/share_type_access"
    shares.refused(404, "GET", path)
    add, remove = {"addProjectAccess": {"project": PROJECT_A}}, {"removeProjectAccess": {"project": PROJECT_A}}
    shares.refused(403, "POST", f"{path}/action", add, who="member_a")
    shares.ok("POST", f"{path}/action", add, status=202, who="admin")
    shares.refused(409, "POST", f"{path}/action", add, who="admin")
    shares.ok("GET", path)
    shares.refused(404, "GET", path, who="member_b")
    entry = {"share_type_id": made["id"], "project_id": PROJECT_A}
    for name in (access, f"{path}/os-share-type-access"):
        assert shares.ok("GET", name, who="admin") == {"share_type_access": [entry]}
    shares.ok("POST", f"{path}/action", remove, status=202, who="admin")
    shares.refused(404, "POST", f"{path}/action", remove, who="admin")
    wrong = {"addProjectAccess": {"project": "not-an-id"}}
    shares.refused(400, "POST", f"{path}/action", wrong, who="admin")
    public = create(shares, "open")
    shares.refused(404, "GET", f"/types/{public['id']}/share_type_access", who="admin")
    for action in ("addProjectAccess", "removeProjectAccess"):
        body = {action: {"project": PROJECT_B}}
        shares.refused(409, "POST", f"/types/{public['id']}/action", body, who="admin")


def test_extra_specs_one_by_one(shares: Shares) -> None:
    path = f"/types/{create(shares, 'fast')['id']}/extra_specs"

    def ok(method: str, more: str = "", body: Any = None, **about: Any) -> Any:
        return shares.ok(method, path + more, body, who="admin", **about)

    assert ok("POST", body={"extra_specs": {"a": "1", "snapshot_support": True}}) == {
        "extra_specs": {"a": "1", "snapshot_support": "True"}
    }
    assert ok("GET") == {"extra_specs": DHSS | {"a": "1", "snapshot_support": "True"}}
    assert ok("PUT", "/a", {"a": "2"}) == ok("GET", "/a") == {"a": "2"}
    for method, more, body in (
        ("PUT", "/a", {"b": "2"}),
        ("PUT", "/a", {"a": "2", "b": "3"}),
        ("PUT", "/driver_handles_share_servers", {"driver_handles_share_servers": "x"}),
        ("POST", "", {"extra_specs": {"snapshot_support": "x"}}),
        ("POST", "", {}),
    ):
        shares.refused(400, method, path + more, body, who="admin")
    ok("DELETE", "/a", status=202)
    for status, method, more, version in (
        (404, "GET", "/a", "2.99"),
        (404, "DELETE", "/a", "2.99"),
        (403, "DELETE", "/driver_handles_share_servers", "2.99"),
        (403, "DELETE", "/snapshot_support", "2.23"),
    ):
        shares.refused(status, method, path + more, who="admin", version=version)
    ok("DELETE", "/snapshot_support", status=202, version="2.24")
    for method, more in (("GET", ""), ("GET", "/a"), ("DELETE", "/a")):
        shares.refused(403, method, path + more)


def test_zones_are_kept_tidy_and_types_found_by_them(shares: Shares) -> None:
    some = create(shares, "some", DHSS | {"availability_zones": " az1 ,  az2, az 3 ", "shares": 5})
    assert (some["extra_specs"]["availability_zones"], some["extra_specs"]["shares"]) == ("az1,az2,az 3", "5")
    for wrong in ("az1, ,az2", "az1,", ",az1", " "):
        refuse(shares, 400, extra_specs=DHSS | {"availability_zones": wrong})
    for zones, found in (("az 3, az1", True), ("az2", True), ("az", False), ("az1,az4", False), ("az_", False)):
        query = urlencode({"extra_specs": {"availability_zones": zones}})
        names = {one["name"] for one in shares.ok("GET", f"/types?{query}", who="admin")["share_types"]}
        assert "default" in names
        assert ("some" in names) is found, zones
