from __future__ import annotations

import pytest

from tests.block.admin.conftest import cluster, worker
from tests.block.conftest import BlockApi

SUMMARY = {"name", "binary", "state", "status"}
DETAIL = SUMMARY | {
    "num_hosts",
    "num_down_hosts",
    "last_heartbeat",
    "created_at",
    "updated_at",
    "disabled_reason",
}


@pytest.fixture
def clusters(api: BlockApi) -> BlockApi:
    api.add(cluster("c@file"), worker("a@file", cluster="c@file"), worker("b@file", cluster="c@file", age=100))
    api.add(cluster("down@file"), worker("d@file", cluster="down@file", age=100))
    return api


def names(api: BlockApi, query: str, version: str = "3.26") -> list[str]:
    return [one["name"] for one in api.ok("GET", f"/clusters?{query}", version=version)["clusters"]]


@pytest.mark.parametrize(
    ("version", "more", "more_detail"),
    [("3.7", set(), set()), ("3.25", set(), set()), ("3.26", {"replication_status"}, {"frozen", "active_backend_id"})],
)
def test_the_key_sets(clusters: BlockApi, version: str, more: set[str], more_detail: set[str]) -> None:
    for one in clusters.ok("GET", "/clusters", version=version)["clusters"]:
        assert set(one) == SUMMARY | more
    for one in clusters.ok("GET", "/clusters/detail", version=version)["clusters"]:
        assert set(one) == DETAIL | more | more_detail
    shown = clusters.ok("GET", "/clusters/c@file", version=version)["cluster"]
    assert set(shown) == DETAIL | more | more_detail
    assert (shown["state"], shown["num_hosts"], shown["num_down_hosts"]) == ("up", 2, 1)


def test_filters(clusters: BlockApi) -> None:
    everything = ["c@file", "down@file"]
    assert names(clusters, "binary=cinder-volume&disabled=false") == everything
    assert names(clusters, "name=c@file") == ["c@file"]
    assert names(clusters, "is_up=no") == ["down@file"]
    assert names(clusters, "num_hosts=2&num_down_hosts=1") == ["c@file"]
    assert names(clusters, "frozen=true") == []
    assert names(clusters, "replication_status=not-capable") == everything
    for bad in ("is_up=perhaps", "num_hosts=many", "cats=1"):
        clusters.refused(400, "GET", f"/clusters?{bad}")
    for late in ("frozen=true", "replication_status=x", "active_backend_id=x"):
        clusters.refused(400, "GET", f"/clusters?{late}", version="3.25")


def test_disable_and_enable_reach_all_members(clusters: BlockApi) -> None:
    disabled = clusters.ok("PUT", "/clusters/disable", {"name": "c@file", "disabled_reason": "why"})["cluster"]
    assert (disabled["status"], disabled["disabled_reason"]) == ("disabled", "why")
    members = clusters.ok("GET", "/os-services")["services"]
    assert {one["host"]: one["status"] for one in members} == {
        "a@file": "disabled",
        "b@file": "disabled",
        "d@file": "enabled",
    }
    enabled = clusters.ok("PUT", "/clusters/enable", {"name": "c@file", "binary": "cinder-volume"})["cluster"]
    assert enabled["status"] == "enabled"
    assert set(enabled) == SUMMARY | {"replication_status"}


def test_clusters_that_are_none(clusters: BlockApi) -> None:
    clusters.refused(404, "GET", "/clusters/none")
    for action in ("enable", "disable"):
        clusters.refused(404, "PUT", f"/clusters/{action}", {"name": "none"})
        clusters.refused(404, "PUT", f"/clusters/{action}", {"name": "c@file", "binary": "cinder-scheduler"})
        clusters.refused(400, "PUT", f"/clusters/{action}", {})
    clusters.refused(404, "GET", "/clusters", version="3.6")
    clusters.refused(403, "GET", "/clusters", who="member_a")
