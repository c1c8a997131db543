"""What a person types: the `openstack` command, and `pumice operations`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.acceptance.running import Member, Pumice

pytestmark = pytest.mark.real


def test_the_openstack_command(pumice: Pumice) -> None:
    def openstack(*words: str) -> Any:
        return pumice.openstack("volume", *words)

    def status(kind: str, id: str, wanted: str) -> None:
        admin.rests(kind, id, wanted)

    admin = Member(pumice, "admin")
    as_json = ("-f", "json")
    kind = openstack("type", "create", "--property", "volume_backend_name=file", "fast", *as_json)
    assert (kind["name"], kind["is_public"]) == ("fast", True)
    first = openstack("create", "--size", "1", "--type", "fast", "--property", "for=tests", "first", *as_json)
    assert (first["size"], first["type"]) == (1, "fast")
    status("volume", first["id"], "available")
    snapshot = openstack("snapshot", "create", "--volume", "first", "before", *as_json)
    assert (snapshot["volume_id"], snapshot["size"]) == (first["id"], 1)
    status("snapshot", snapshot["id"], "available")
    second = openstack("create", "--snapshot", "before", "second", *as_json)
    third = openstack("create", "--source", "first", "third", *as_json)
    assert (second["snapshot_id"], third["source_volid"]) == (snapshot["id"], first["id"])
    for copy in (second, third):
        status("volume", copy["id"], "available")
    assert openstack("set", "--size", "2", "third") == ""
    status("volume", third["id"], "available")

    listed = {row["Name"]: row for row in openstack("list", "--long", *as_json)}
    assert {name: (row["Status"], row["Size"], row["Type"]) for name, row in listed.items()} == {
        "first": ("available", 1, "fast"),
        "second": ("available", 1, "fast"),
        "third": ("available", 2, "fast"),
    }
    assert listed["first"]["Properties"] == {"for": "tests"}
    assert pumice.openstack("volume", "list", *as_json, cloud="pumice-demo") == []

    openstack("delete", "--cascade", "first", "second", "third")
    for volume in (first, second, third):
        status("volume", volume["id"], "gone")
    openstack("type", "delete", "fast")


def test_what_an_operator_looks_at(pumice: Pumice) -> None:
    services = pumice.openstack("volume", "service", "list", "-f", "json")
    assert {(row["Binary"], row["Host"], row["Status"], row["State"]) for row in services} == {
        ("cinder-volume", "pumice@file", "enabled", "up"),
        ("cinder-scheduler", "pumice", "enabled", "up"),
    }
    quota = pumice.openstack("quota", "show", "--volume", "demo", "-f", "json")
    limits = {row["Resource"]: row["Limit"] for row in quota}
    assert {"volumes": 10, "snapshots": 10, "gigabytes": 1000}.items() <= limits.items()
    assert not any("instances" in name for name in limits)


def test_operations(pumice: Pumice, member: Member) -> None:
    good = pumice.ask("POST", "/volumes", {"volume": {"size": 1}})
    large = pumice.ask("POST", "/volumes", {"volume": {"size": 990}})
    volumes = [answer.json()["volume"]["id"] for answer in (good, large)]
    ids = [answer.headers["X-Operation-Id"] for answer in (good, large)]

    watched = pumice.run("pumice", "operations", "watch", "--interval=0.1", *ids, cloud="pumice-demo", status=1)
    assert all(f"volume.create {id}" in watched for id in volumes)
    assert "succeeded" in watched
    assert "the messages about the resource say why" in watched
    shown = json.loads(pumice.run("pumice", "operations", "show", "--json", ids[0], cloud="pumice-demo"))
    assert (shown["kind"], shown["resource_id"], shown["state"]) == ("volume.create", volumes[0], "succeeded")
    assert shown["progress"] == 100
    assert shown["error"] is None
    listed = {row["id"]: row for row in json.loads(pumice.run("pumice", "operations", "list", "--json"))}
    assert listed[ids[1]]["state"] == "failed"
    assert listed[ids[1]]["project_id"] == pumice.project_id("demo")
    assert listed[ids[1]]["error"].startswith("no pool will do")
    assert member.status("volume", volumes[1]) == "error"
    [message] = [one for one in member.ok("GET", "/messages")["messages"] if one["resource_uuid"] == volumes[1]]
    assert message["message_level"] == "ERROR"

    assert "succeeded" in pumice.run("pumice", "operations", "watch", ids[0], cloud="pumice-demo")
    unseen = pumice.ask("GET", f"/operations/{ids[0]}", who="stranger")
    assert unseen.status_code == 404
