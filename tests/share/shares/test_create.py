from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from pumice.kernel.messages import Message
from pumice.share.message_codes import REFUSED_BY
from tests.support.identity import PROJECT_A
from tests.support.shareservice import CAPABLE, Shares

NFS = {"share_proto": "NFS", "size": 1}


def new(shares: Shares, *, version: str = "2.99", who: str = "member_a", **values: Any) -> dict[str, Any]:
    answer = shares.ok("POST", "/shares", {"share": NFS | values}, version=version, who=who)
    share: dict[str, Any] = answer["share"]
    return share


def refused(shares: Shares, status: int, *, version: str = "2.99", who: str = "member_a", **values: Any) -> str:
    return shares.refused(status, "POST", "/shares", {"share": NFS | values}, version=version, who=who)


def details(shares: Shares, share_id: str) -> list[str]:
    with shares.service.db.read() as tx:
        return list(tx.scalars(select(Message.detail_id).where(Message.resource_uuid == share_id)))


def test_a_share_is_made_exported_and_placed(shares: Shares) -> None:
    share = new(shares, name="data", description="of the lab", metadata={"a": "1"}, share_proto="nfs")
    assert (share["status"], share["progress"], share["share_proto"]) == ("creating", "0%", "NFS")
    assert shares.rest(f"/shares/{share['id']}") == "available"
    found = shares.ok("GET", f"/shares/{share['id']}", who="admin_a")["share"]
    assert (found["host"], found["progress"], found["availability_zone"]) == ("here@sim#sim", "100%", "nova")
    assert (found["name"], found["description"], found["metadata"]) == ("data", "of the lab", {"a": "1"})
    assert shares.ok("GET", "/shares?name=data")["shares"][0]["id"] == share["id"]


def test_the_older_names_of_name_and_description_count(shares: Shares) -> None:
    share = new(shares, display_name="n", display_description="d")
    assert (share["name"], share["description"]) == ("n", "d")


@pytest.mark.parametrize(
    ("status", "values", "words"),
    [
        (400, {"size": 0}, "size"),
        (400, {"size": -1}, "size"),
        (400, {"size": "many"}, "size"),
        (400, {"size": None}, "size"),
        (400, {"share_proto": "SMTP"}, "NFS, CIFS"),
        (400, {"share_proto": "HDFS"}, "NFS, CIFS"),
        (400, {"name": "n" * 256}, "255"),
        (400, {"description": "n" * 256}, "255"),
        (400, {"share_type": "default", "volume_type": "default"}, "together"),
        (404, {"share_type": "nowhere"}, "nowhere"),
        (404, {"availability_zone": "mars"}, "mars"),
        (404, {"snapshot_id": "0" * 32}, "Snapshot"),
        (404, {"share_group_id": "0" * 32}, "group"),
        (400, {"metadata": {"k": ""}}, "metadata"),
        (400, {"metadata": {"": "v"}}, "metadata"),
        (400, {"is_public": "maybe"}, "is_public"),
        (403, {"is_public": True}, "share:create_public_share"),
        (403, {"metadata": {"__managed_at": "now"}}, "administrators"),
        (400, {"mount_point_name": "a"}, "mount_point_name_support"),
        (400, {"scheduler_hints": {"same_host": "here"}}, "same_host"),
        (404, {"scheduler_hints": {"different_host": str(uuid.UUID(int=1))}}, "could not be found"),
        (400, {"scheduler_hints": {"only_host": "here@sim#sim"}}, "administrators"),
        (400, {"encryption_key_ref": "0" * 32}, "encryption_key_ref"),
    ],
)
def test_what_is_refused(shares: Shares, status: int, values: dict[str, Any], words: str) -> None:
    assert words in refused(shares, status, **values)


def test_a_body_without_a_share_is_422(shares: Shares) -> None:
    shares.refused(422, "POST", "/shares", {})
    shares.refused(400, "POST", "/shares", {"share": {"size": 1}})


def test_bounds_of_the_type(shares: Shares) -> None:
    bounds = {"provisioning:min_share_size": "2", "provisioning:max_share_size": "4"}
    shares.type("bound", CAPABLE | bounds)
    assert "2 GiB" in refused(shares, 400, share_type="bound", size=1)
    assert "4 GiB" in refused(shares, 400, share_type="bound", size=5)
    share = new(shares, share_type="bound", size=3)
    assert shares.rest(f"/shares/{share['id']}") == "available"
    assert shares.refused(400, "POST", f"/shares/{share['id']}/action", {"shrink": {"new_size": 1}})
    assert shares.refused(400, "POST", f"/shares/{share['id']}/action", {"extend": {"new_size": 5}})


def test_zones_of_the_type_count_from_248(shares: Shares) -> None:
    shares.type("elsewhere", CAPABLE | {"availability_zones": "mars, venus"})
    assert "mars, venus" in refused(shares, 400, share_type="elsewhere", availability_zone="nova")
    share = new(shares, share_type="elsewhere", availability_zone="nova", version="2.47")
    assert shares.rest(f"/shares/{share['id']}") == "available"
    share = new(shares, share_type="elsewhere")
    assert shares.rest(f"/shares/{share['id']}") == "error"
    assert details(shares, share["id"]) == ["007"]


def test_quotas(tmp_path: Path) -> None:
    with Shares(tmp_path, sections={"quota": {"shares": 1, "gigabytes": 5, "per_share_gigabytes": 3}}) as shares:
        assert "per_share" in refused(shares, 413, size=4)
        share = shares.share(size=2)
        assert "shares" in refused(shares, 413)
        shares.refused(413, "POST", f"/shares/{share}/action", {"extend": {"new_size": 4}})
        shares.ok("DELETE", f"/shares/{share}", status=202)
        assert shares.rest(f"/shares/{share}") == "gone"
        shares.share()
        assert shares.all_wrong() == []


def test_growth_beyond_the_quota_is_403(tmp_path: Path) -> None:
    with Shares(tmp_path, sections={"quota": {"gigabytes": 5}}) as shares:
        share = shares.share(size=2)
        assert "gigabytes" in shares.refused(403, "POST", f"/shares/{share}/action", {"extend": {"new_size": 6}})
        assert shares.rest(f"/shares/{share}") == "available"
        assert shares.all_wrong() == []


def test_without_any_type_a_share_fails_later(tmp_path: Path) -> None:
    with Shares(tmp_path, default_share_type=None) as shares:
        share = new(shares)
        assert shares.rest(f"/shares/{share['id']}") == "error"
        assert details(shares, share["id"]) == ["024"]
        shares.ok("DELETE", f"/shares/{share['id']}", status=202)
        assert shares.rest(f"/shares/{share['id']}") == "gone"
        assert shares.all_wrong() == []


def test_a_network_without_share_servers_fails_later(shares: Shares) -> None:
    share = new(shares, share_network_id="0" * 32)
    assert shares.rest(f"/shares/{share['id']}") == "error"
    assert details(shares, share["id"]) == ["003"]


def test_a_type_with_share_servers_needs_a_network(shares: Shares) -> None:
    shares.type("servers", {"driver_handles_share_servers": "True"})
    refused(shares, 400, share_type="servers")
    refused(shares, 404, share_type="servers", share_network_id="0" * 32)


def test_a_failing_backend_gives_the_share_to_another(tmp_path: Path) -> None:
    two = {name: {"share_driver": "simulated"} for name in ("one", "two")}
    with Shares(tmp_path, two) as shares:
        first = shares.drivers()[0]
        first.dial("create_share", fail="no")
        for _ in range(3):
            share = shares.share()
            assert shares.ok("GET", f"/shares/{share}", who="admin_a")["share"]["host"] == "here@two#two"
        shares.drivers()[1].dial("create_share", fail="neither")
        share = new(shares)["id"]
        assert shares.rest(f"/shares/{share}") == "error"
        for driver in shares.drivers():
            driver.undial()
        shares.ok("DELETE", f"/shares/{share}", status=202)
        assert shares.rest(f"/shares/{share}") == "gone"
        assert shares.all_wrong() == []


def host(shares: Shares, share: str) -> str:
    found: str = shares.ok("GET", f"/shares/{share}", who="admin_a")["share"]["host"]
    return found


def metadata(shares: Shares, share: str) -> dict[str, str]:
    found: dict[str, str] = shares.ok("GET", f"/shares/{share}/metadata")["metadata"]
    return found


def test_hints_name_pools(tmp_path: Path) -> None:
    with Shares(tmp_path, {"one": {"share_driver": "simulated", "simulated_pools": 2}}) as shares:
        first = shares.share()
        near = shares.share(scheduler_hints={"same_host": first})
        far = shares.share(scheduler_hints={"different_host": f"{first},{near}"})
        assert host(shares, near) == host(shares, first) != host(shares, far)
        assert host(shares, first).partition("#")[0] == host(shares, far).partition("#")[0]
        only = shares.share(scheduler_hints={"only_host": host(shares, far)}, who="admin_a")
        assert host(shares, only) == host(shares, far)


def test_shares_know_those_that_they_were_made_near_to(shares: Shares) -> None:
    first, second = shares.share(), shares.share(metadata={"a": "1"})
    near = shares.share(scheduler_hints={"same_host": f"{first},{second},{first}"}, metadata={"b": "2"})
    nearer = shares.share(scheduler_hints={"same_host": first})
    assert metadata(shares, near) == {"b": "2", "__affinity_same_host": f"{first},{second}"}
    assert metadata(shares, first) == {"__affinity_same_host": f"{near},{nearer}"}
    assert metadata(shares, second) == {"a": "1", "__affinity_same_host": near}
    shares.ok("DELETE", f"/shares/{near}", status=202)
    assert shares.rest(f"/shares/{near}") == "gone"
    assert metadata(shares, first) == {"__affinity_same_host": nearer}
    assert metadata(shares, second) == {"a": "1"}
    shares.ok("DELETE", f"/shares/{first}", status=202)
    assert shares.rest(f"/shares/{first}") == "gone"
    assert metadata(shares, nearer) == {}


def test_nobody_changes_the_metadata_of_a_foreign_public_share_by_a_hint(shares: Shares) -> None:
    theirs = shares.share(is_public=True, who="admin_a")
    hints = {"scheduler_hints": {"different_host": theirs}}
    refused(shares, 403, who="member_b", **hints)
    assert metadata(shares, theirs) == {}


def test_mount_point_names(shares: Shares) -> None:
    shares.type("named", CAPABLE | {"mount_point_name_support": "True"})
    share = shares.share(share_type="named", mount_point_name="lab")
    (location,) = shares.ok("GET", f"/shares/{share}/export_locations")["export_locations"]
    assert location["path"].endswith(f"/{PROJECT_A}_lab")
    refused(shares, 400, share_type="named", mount_point_name="a/b")
    shares.type("plain", CAPABLE | {"mount_point_name_support": "True", "provisioning:mount_point_prefix": ""})
    share = shares.share(share_type="plain", mount_point_name="hall")
    (location,) = shares.ok("GET", f"/shares/{share}/export_locations")["export_locations"]
    assert location["path"].endswith("/hall")


def snapshot(shares: Shares, share: str) -> str:
    found: str = shares.ok("POST", "/snapshots", {"snapshot": {"share_id": share}}, status=202)["snapshot"]["id"]
    assert shares.rest(f"/snapshots/{found}") == "available"
    return found


def test_a_share_from_a_snapshot(shares: Shares) -> None:
    parent = shares.share(size=2)
    taken = snapshot(shares, parent)
    share = new(shares, snapshot_id=taken, size=None)
    assert (share["size"], share["snapshot_id"]) == (2, taken)
    assert shares.rest(f"/shares/{share['id']}") == "available"
    larger = shares.share(snapshot_id=taken, size=3)
    assert shares.ok("GET", f"/shares/{larger}")["share"]["size"] == 3
    assert "2 GiB" in refused(shares, 400, snapshot_id=taken, size=1)
    shares.type("other", CAPABLE)
    assert "parent" in refused(shares, 400, snapshot_id=taken, size=2, share_type="other")
    assert "snapshots" in shares.refused(403, "DELETE", f"/shares/{parent}")


def test_a_failing_copy_is_told(shares: Shares) -> None:
    taken = snapshot(shares, shares.share())
    shares.driver.dial("create_share_from_snapshot", fail="no")
    share = new(shares, snapshot_id=taken)["id"]
    assert shares.rest(f"/shares/{share}") == "error"
    assert details(shares, share) == ["017"]


def test_from_224_the_parent_must_support_copies(shares: Shares) -> None:
    shares.type("alone", CAPABLE | {"create_share_from_snapshot_support": "False"})
    taken = snapshot(shares, shares.share(share_type="alone"))
    assert "no shares can be made" in refused(shares, 400, snapshot_id=taken, share_type="alone")
    made = new(shares, snapshot_id=taken, share_type="alone", version="2.23")
    assert made["status"] == "creating"
    assert shares.rest(f"/shares/{made['id']}") == "available"


def test_messages_about_placing_have_the_words_that_clients_look_for() -> None:
    assert all(detail.text.startswith("No storage could be allocated") for detail in REFUSED_BY.values())
