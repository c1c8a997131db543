"""What a person types about shares: the `openstack` command with python-manilaclient's plugin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.acceptance.running import Pumice, ShareMember
from tests.support.waiting import eventually

pytestmark = pytest.mark.real

JSON = ("-f", "json")
CAPABLE = [f"--{what}-support=True" for what in ("snapshot", "create-share-from-snapshot", "revert-to-snapshot")]

Typed = Callable[..., Any]


@pytest.fixture
def share(pumice: Pumice) -> Typed:
    """An ordinary user's `openstack share …`."""
    return lambda *words, **more: pumice.openstack("share", *words, **{"cloud": "pumice-demo", **more})


@pytest.fixture
def admin(pumice: Pumice) -> Iterator[Typed]:
    yield lambda *words, **more: pumice.openstack("share", *words, **more)
    ShareMember(pumice, "admin").clear()


def names(rows: list[dict[str, Any]], key: str = "Name") -> list[str]:
    return sorted(str(row[key]) for row in rows)


def test_a_shares_life(pumice: Pumice, share: Typed, admin: Typed, sharer: ShareMember) -> None:
    kind = admin("type", "create", "gold", "False", *CAPABLE, "--description=all that is", *JSON)
    assert (kind["visibility"], kind["required_extra_specs"]) == ("public", {"driver_handles_share_servers": "False"})
    first = share("create", "--name=first", "--share-type=gold", "--property=for=tests", "NFS", "1", *JSON)
    assert (first["size"], first["share_type_name"], first["status"]) == (1, "gold", "creating")
    sharer.rests("share", first["id"], "available")

    rule = share("access", "create", "first", "ip", "127.0.0.1", *JSON)
    assert (rule["access_level"], rule["access_to"]) == ("rw", "127.0.0.1")
    [location] = share("export", "location", "list", "first", *JSON)
    assert location["Path"].startswith("127.0.0.1:/")
    snapshot = share("snapshot", "create", "--name=before", "first", *JSON)
    sharer.rests("snapshot", snapshot["id"], "available")
    copy = share("create", "--name=copy", "--snapshot-id=before", "NFS", "1", *JSON)
    assert (copy["snapshot_id"], copy["share_type_name"]) == (snapshot["id"], "gold")
    sharer.rests("share", copy["id"], "available")
    for words in (("revert", "before"), ("resize", "first", "3"), ("resize", "first", "2")):
        assert share(*words) == ""
        sharer.rests("share", first["id"], "available")

    listed = {row["Name"]: (row["Size"], row["Status"], row["Share Type Name"]) for row in share("list", *JSON)}
    assert listed == {"first": (2, "available", "gold"), "copy": (1, "available", "gold")}
    assert share("show", "first", *JSON)["properties"] == {"for": "tests"}
    [shown] = share("access", "list", "first", *JSON)
    assert (shown["ID"], shown["State"]) == (rule["id"], "active")
    assert "delete them first" in share("delete", "first", status=1)
    assert share("snapshot", "delete", "before") == ""
    sharer.rests("snapshot", snapshot["id"], "gone")
    assert share("delete", "first", "copy") == ""
    for one in (first, copy):
        sharer.rests("share", one["id"], "gone")
    assert admin("type", "delete", "gold") == ""


def test_access_rules(share: Typed, sharer: ShareMember) -> None:
    sharer.make(name="one")
    reader = share("access", "create", "one", "ip", "10.0.0.0/24", "--access-level=ro", "--properties", "a=b", *JSON)
    writer = share("access", "create", "one", "ip", "fe80::/64", *JSON)["id"]
    assert (reader["access_level"], reader["properties"]) == ("ro", "a : b")
    assert "exists already" in share("access", "create", "one", "ip", "10.0.0.0/24", status=1)
    assert share("access", "set", reader["id"], "--property=c=d", "--access-level=rw") == ""
    assert share("access", "unset", reader["id"], "--property=a") == ""
    shown = share("access", "show", reader["id"], *JSON)
    assert (shown["access_level"], shown["properties"]) == ("rw", "c : d")
    found = share("access", "list", "one", "--access-type=ip", "--access-to=fe80::/64", *JSON)
    assert names(found, "ID") == [writer]

    kept = share("access", "create", "one", "ip", "10.1.0.1", "--lock-deletion", "--lock-reason=audit", *JSON)["id"]
    assert names(share("lock", "list", "--resource-type=access_rule", *JSON), "Resource Id") == [kept]
    assert "lock" in share("access", "delete", "one", kept, status=1)
    assert share("access", "delete", "one", kept, "--unrestrict") == ""
    for rule in (reader["id"], writer):
        assert share("access", "delete", "one", rule) == ""
    eventually(lambda: share("access", "list", "one", *JSON) == [])


def test_what_is_locked_binned_and_restored(share: Typed, sharer: ShareMember) -> None:
    id = sharer.make(name="one")
    lock = share("lock", "create", "one", "share", "--reason=ours", *JSON)
    assert (lock["resource_id"], lock["resource_action"]) == (id, "delete")
    assert "lock" in share("delete", "one", status=1)
    assert share("lock", "set", lock["id"], "--reason=theirs") == ""
    assert share("lock", "show", lock["id"], *JSON)["Lock Reason"] == "theirs"
    assert share("lock", "delete", lock["id"]) == ""
    assert share("delete", "--soft", "one") == ""
    assert share("list", *JSON) == []
    assert names(share("list", "--soft-deleted", *JSON)) == ["one"]
    assert share("restore", id) == ""
    assert names(share("list", *JSON)) == ["one"]


def test_a_share_is_handed_to_another_project(share: Typed, admin: Typed, sharer: ShareMember) -> None:
    id = sharer.make(name="one")
    transfer = share("transfer", "create", "one", "--name=gift", *JSON)
    assert (transfer["resource_id"], transfer["accepted"]) == (id, False)
    assert names(share("transfer", "list", *JSON)) == ["gift"]
    assert admin("transfer", "accept", transfer["id"], transfer["auth_key"]) == ""
    assert share("list", *JSON) == []
    assert names(admin("list", *JSON), "ID") == [id]


def test_snapshots_that_can_be_mounted(share: Typed, sharer: ShareMember) -> None:
    sharer.make(name="one")
    made = share("snapshot", "create", "one", "--name=old", "--property=a=b", *JSON)["id"]
    sharer.rests("snapshot", made, "available")
    assert share("snapshot", "set", "old", "--name=older", "--property=c=d") == ""
    assert share("snapshot", "unset", "older", "--property=a") == ""
    shown = share("snapshot", "show", "older", *JSON)
    assert (shown["status"], shown["properties"]) == ("available", {"c": "d"})
    [row] = share("snapshot", "list", "--detail", *JSON)
    assert (row["Name"], row["Status"]) == ("older", "available")
    [location] = share("snapshot", "export", "location", "list", "older", *JSON)
    assert location["Path"].startswith("127.0.0.1:/")
    rule = share("snapshot", "access", "create", "older", "ip", "127.0.0.1", *JSON)["id"]
    assert names(share("snapshot", "access", "list", "older", *JSON), "ID") == [rule]
    assert share("snapshot", "access", "delete", "older", rule) == ""
    assert share("snapshot", "delete", "older") == ""
    sharer.rests("snapshot", made, "gone")


def test_what_is_refused_says_why(share: Typed, sharer: ShareMember) -> None:
    sharer.make(name="one")
    for words, reason in (
        (("create", "FOO", "1"), "one of NFS, CIFS"),
        (("create", "NFS", "0"), "needs 1 GiB or more"),
        (("create", "NFS", "5000"), "The quota of gigabytes is exceeded: 5000 more are asked for, 1 of 1000"),
        (("create", "--share-type=none", "NFS", "1"), "No sharetype with a name or ID of 'none' exists"),
        (("create", "--availability-zone=none", "NFS", "1"), "Availability zone none could not be found"),
        (("resize", "one", "5000"), "The quota of gigabytes is exceeded: 4999 more"),
        (("pool", "list"), "policy does not allow"),
    ):
        assert reason in share(*words, status=1)


def test_limits_zones_and_messages(share: Typed, sharer: ShareMember) -> None:
    id = sharer.make(name="one")
    limits = {row["Name"]: row["Value"] for row in share("limits", "show", "--absolute", *JSON)}
    wanted = {"maxTotalShares": 50, "totalSharesUsed": 1, "maxTotalShareGigabytes": 1000, "totalShareGigabytesUsed": 1}
    assert wanted.items() <= limits.items()
    assert names(share("availability", "zone", "list", *JSON)) == ["nova"]
    assert names(share("type", "list", *JSON)) == ["default"]
    rule = share("access", "create", "one", "user", "somebody", *JSON)["id"]
    eventually(lambda: share("access", "show", rule, *JSON)["state"] == "error")
    [message] = share("message", "list", "--resource-id", id, *JSON)
    assert message["User Message"].startswith("Changing access rules")
    assert share("message", "show", message["ID"], *JSON)["resource_id"] == id
    assert share("message", "delete", message["ID"]) == ""


def test_what_an_operator_looks_at(pumice: Pumice, admin: Typed, sharer: ShareMember) -> None:
    id = sharer.make(name="one")
    [pool] = admin("pool", "list", "--detail", *JSON)
    assert (pool["Name"], pool["Capabilities"]["total_capacity_gb"]) == ("pumice@btrfs#btrfs", 6.0)
    backend = ("pumice@btrfs", "manila-share")
    assert admin("service", "set", "--disable", "--disable-reason=tests", *backend) == ""
    rows = {(row["Binary"], row["Host"], row["Status"], row["State"]) for row in admin("service", "list", *JSON)}
    assert rows == {
        ("manila-share", "pumice@btrfs", "disabled", "up"),
        ("manila-scheduler", "pumice", "enabled", "up"),
    }
    assert admin("service", "set", "--enable", *backend) == ""
    assert admin("service", "ensure", "shares", "pumice@btrfs") == ""
    sharer.rests("share", id, "available")
    [instance] = admin("instance", "list", "--share", id, *JSON)
    assert admin("instance", "show", instance["ID"], *JSON)["share_id"] == id
    assert names(admin("list", "--all-projects", *JSON)) == ["one"]

    assert admin("quota", "set", "demo", "--shares=1") == ""
    assert admin("quota", "show", "demo", "--detail", *JSON)["shares"] == "in_use = 1\nlimit = 1\nreserved = 0"
    assert "The quota of shares" in pumice.openstack("share", "create", "NFS", "1", cloud="pumice-demo", status=1)
    assert admin("quota", "delete", "demo") == ""
    assert admin("quota", "show", "demo", *JSON)["shares"] == 50


def test_types_of_some_projects(pumice: Pumice, share: Typed, admin: Typed) -> None:
    assert admin("type", "create", "secret", "False", "--public=False", *JSON)["visibility"] == "private"
    project = pumice.project_id("demo")
    assert names(share("type", "list", *JSON)) == ["default"]
    assert admin("type", "access", "create", "secret", project) == ""
    assert names(admin("type", "access", "list", "secret", *JSON), "Project ID") == [project]
    assert admin("type", "set", "secret", "--name=open", "--extra-specs", "a=b") == ""
    assert names(share("type", "list", *JSON)) == ["default", "open"]
    assert admin("type", "unset", "open", "a") == ""
    assert admin("type", "access", "delete", "open", project) == ""
    assert admin("type", "delete", "open") == ""


def test_a_share_is_abandoned_and_adopted(pumice: Pumice, admin: Typed) -> None:
    owner = ShareMember(pumice, "admin")
    share = owner.make(name="one", metadata={"for": "tests"})
    snapshot = owner.make("snapshot", share_id=share, name="old")
    place = admin("snapshot", "show", "old", *JSON)["provider_location"]
    [path] = names(admin("export", "location", "list", "one", *JSON), "Path")
    assert admin("snapshot", "abandon", "old") == ""
    owner.rests("snapshot", snapshot, "gone")
    again = admin("snapshot", "adopt", "one", place, "--name=older", *JSON)["id"]
    owner.rests("snapshot", again, "available")
    assert admin("snapshot", "abandon", "older") == ""
    owner.rests("snapshot", again, "gone")
    assert admin("abandon", "one") == ""
    owner.rests("share", share, "gone")
    assert admin("set", "--name=two", "one", status=1).startswith("No share")
    adopted = admin("adopt", "pumice@btrfs#btrfs", "NFS", path, "--name=two", *JSON)["id"]
    owner.rests("share", adopted, "available")
    assert admin("show", "two", *JSON)["size"] == 1
    assert admin("set", "--property=a=b", "--name=three", "two") == ""
    assert admin("properties", "show", "three", *JSON) == {"a": "b"}
    assert admin("unset", "--property=a", "--name", "three") == ""
