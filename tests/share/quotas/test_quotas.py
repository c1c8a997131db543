from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.share.types.test_types import DHSS
from tests.support.identity import PEOPLE, PROJECT_A, PROJECT_B
from tests.support.shareservice import Shares

QUOTA = f"/quota-sets/{PROJECT_A}"
USER = PEOPLE["member_a"].user_id


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Shares]:
    with Shares(tmp_path) as made:
        yield made
        assert made.all_wrong() == []


def set_quota(world: Shares, query: str = "", **limits: Any) -> dict[str, int]:
    found: dict[str, int] = world.ok("PUT", QUOTA + query, {"quota_set": limits}, who="admin")["quota_set"]
    return found


def test_resources_by_version(world: Shares) -> None:
    first = {"id", "shares", "gigabytes", "snapshots", "snapshot_gigabytes", "share_networks"}
    newer = [
        ("2.6", set()),
        ("2.7", set()),
        ("2.40", {"share_groups", "share_group_snapshots"}),
        ("2.53", {"share_replicas", "replica_gigabytes"}),
        ("2.62", {"per_share_gigabytes"}),
        ("2.80", {"backups", "backup_gigabytes"}),
        ("2.90", {"encryption_keys"}),
    ]
    known = set(first)
    for version, more in newer:
        known |= more
        path = f"/{'os-' if version == '2.6' else ''}quota-sets/{PROJECT_A}"
        for end in ("", "/defaults"):
            assert set(world.ok("GET", path + end, version=version)["quota_set"]) == known, version
    world.refused(404, "GET", QUOTA, version="2.6")
    world.refused(404, "GET", f"/os-quota-sets/{PROJECT_A}", version="2.7")
    world.refused(404, "GET", f"{QUOTA}/detail", version="2.24")
    body = {"quota_set": {"share_groups": 1}}
    world.refused(400, "PUT", QUOTA, body, who="admin", version="2.39")


def test_limits_of_a_project(world: Shares) -> None:
    assert world.ok("GET", QUOTA)["quota_set"]["shares"] == 50
    assert set_quota(world, shares=1)["shares"] == 1
    world.share()
    world.refused(413, "POST", "/shares", {"share": {"share_proto": "NFS", "size": 1}})
    assert world.ok("GET", f"{QUOTA}/detail")["quota_set"]["shares"] == {"limit": 1, "in_use": 1, "reserved": 0}
    for wrong in ({}, {"shares": -2}, {"shares": "x"}, {"nothing": 1}, {"shares": 0}, {"force": True}):
        world.refused(400, "PUT", QUOTA, {"quota_set": wrong}, who="admin")
    assert set_quota(world, shares=0, force=True)["shares"] == 0
    world.ok("DELETE", QUOTA, status=202, who="admin")
    assert world.ok("GET", QUOTA)["quota_set"]["shares"] == 50
    for method, path in (("GET", f"/quota-sets/{PROJECT_B}"), ("PUT", QUOTA), ("DELETE", QUOTA)):
        world.refused(403, method, path, {"quota_set": {"shares": 1}} if method == "PUT" else None)


def test_an_unlimited_project_with_a_limited_user(world: Shares) -> None:
    set_quota(world, gigabytes=-1, shares=-1)
    assert set_quota(world, f"?user_id={USER}", gigabytes=10)["gigabytes"] == 10
    world.share(size=9)
    assert "user" in world.refused(413, "POST", "/shares", {"share": {"share_proto": "NFS", "size": 2}})
    world.share(size=20, who="member2_a")
    of_user = world.ok("GET", f"{QUOTA}/detail?user_id={USER}", who="admin")["quota_set"]
    assert of_user["gigabytes"] == {"limit": 10, "in_use": 9, "reserved": 0}
    assert of_user["shares"] == {"limit": -1, "in_use": 1, "reserved": 0}
    assert world.ok("GET", f"{QUOTA}/detail")["quota_set"]["gigabytes"]["in_use"] == 29
    world.ok("DELETE", f"{QUOTA}?user_id={USER}", status=202, who="admin")
    assert world.ok("GET", f"{QUOTA}?user_id={USER}")["quota_set"]["gigabytes"] == -1


def test_users_are_bounded_by_the_project(world: Shares) -> None:
    set_quota(world, shares=5)
    query = f"?user_id={USER}"
    for wrong in (6, -1):
        world.refused(400, "PUT", QUOTA + query, {"quota_set": {"shares": wrong}}, who="admin")
    assert set_quota(world, query, shares=5)["shares"] == 5
    for forced in (6, -1):
        assert set_quota(world, query, shares=forced, force=True)["shares"] == forced
    world.refused(400, "GET", f"{QUOTA}?user_id={'u' * 256}")


def test_limits_of_a_share_type(world: Shares) -> None:
    id = world.type("small", DHSS)
    query = "?share_type=small"
    assert set_quota(world, query, shares=1, gigabytes=3)["shares"] == 1
    shown = world.ok("GET", f"{QUOTA}?share_type={id}")["quota_set"]
    assert (shown["shares"], shown["snapshots"]) == (1, 50)
    assert not {"share_networks", "share_groups", "share_group_snapshots"} & set(shown)
    world.share(share_type="small")
    body = {"share": {"share_proto": "NFS", "size": 1, "share_type": "small"}}
    assert "small" in world.refused(413, "POST", "/shares", body)
    world.share()
    for status, path, limits, version in (
        (400, f"{QUOTA}{query}", {"share_networks": 1}, "2.99"),
        (400, f"{QUOTA}{query}", {"shares": 51}, "2.99"),
        (400, f"{QUOTA}{query}", {"shares": 0}, "2.99"),
        (400, f"{QUOTA}{query}", {"shares": 1}, "2.38"),
        (400, f"{QUOTA}{query}&user_id={USER}", {"shares": 1}, "2.99"),
        (404, f"{QUOTA}?share_type=nothing", {"shares": 1}, "2.99"),
    ):
        world.refused(status, "PUT", path, {"quota_set": limits}, who="admin", version=version)
    world.ok("DELETE", f"{QUOTA}{query}", status=202, who="admin")
    assert world.ok("GET", f"{QUOTA}{query}")["quota_set"]["shares"] == 50


def test_the_size_of_one_share(world: Shares) -> None:
    set_quota(world, per_share_gigabytes=2)
    body = {"share": {"share_proto": "NFS", "size": 3}}
    assert "per_share_gigabytes" in world.refused(413, "POST", "/shares", body)
    share = world.share(size=2)
    world.refused(413, "POST", f"/shares/{share}/action", {"extend": {"new_size": 3}})


def test_classes(world: Shares) -> None:
    path = "/quota-class-sets/default"
    assert world.ok("GET", path, who="admin")["quota_class_set"]["shares"] == 50
    changed = world.ok("PUT", path, {"quota_class_set": {"shares": 7}}, who="admin")["quota_class_set"]
    assert changed["shares"] == world.ok("GET", QUOTA)["quota_set"]["shares"] == 7
    old = world.ok("GET", "/os-quota-class-sets/default", who="admin", version="2.6")["quota_class_set"]
    assert (old["id"], old["shares"]) == ("default", 7)
    world.refused(400, "PUT", path, {"quota_class_set": {"x": 1}}, who="admin")
    world.refused(403, "PUT", path, {"quota_class_set": {"shares": 1}})


def test_limits_show_what_is_used(world: Shares) -> None:
    world.share(size=4)
    found = world.ok("GET", "/limits", who="reader_a")["limits"]
    assert found["rate"] == []
    assert (found["absolute"]["totalSharesUsed"], found["absolute"]["totalShareGigabytesUsed"]) == (1, 4)
    assert found["absolute"]["maxTotalShares"] == 50
    counts = {
        version: len(world.ok("GET", "/limits", version=version)["limits"]["absolute"])
        for version in ("2.0", "2.52", "2.53", "2.58", "2.80")
    }
    assert counts == {"2.0": 10, "2.52": 10, "2.53": 14, "2.58": 18, "2.80": 22}


def test_a_type_takes_its_limits_along(world: Shares) -> None:
    id = world.type("brief", DHSS)
    set_quota(world, "?share_type=brief", shares=3)
    world.ok("DELETE", f"/types/{id}", status=202, who="admin")
    world.type("brief", DHSS)
    assert world.ok("GET", f"{QUOTA}?share_type=brief")["quota_set"]["shares"] == 50
