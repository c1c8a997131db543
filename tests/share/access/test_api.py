"""Access rules over the API: bodies, answers by version, refusals, and who sees what."""

from __future__ import annotations

from typing import Any

import pytest

from pumice.kernel.api.versions import Version
from pumice.kernel.db.base import new_id
from tests.share.access.conftest import World

BASE = {"id", "access_level", "access_to", "access_type", "state"}


class TestAnswers:
    def test_keys_by_version(self, world: World) -> None:
        share = world.share()
        keys, steps = BASE, {"2.21": {"access_key"}, "2.33": {"created_at", "updated_at"}, "2.45": {"metadata"}}
        for version in ("2.7", "2.20", "2.21", "2.32", "2.33", "2.44", "2.45", "2.99"):
            keys = keys | steps.get(version, set())
            body = {"access_type": "ip", "access_to": f"10.0.0.{version[2:]}"}
            rule = world.act(share, "allow_access", body, status=200, version=version)["access"]
            assert set(rule) == keys | {"share_id"}
            assert (rule["access_level"], rule["share_id"]) == ("rw", share)
            if Version.parse(version) < "2.45":
                listed = world.act(share, "access_list", status=200, version=version)["access_list"]
                assert {frozenset(one) for one in listed} == {frozenset(keys)}

    def test_the_oldest_names(self, world: World) -> None:
        share = world.share()
        body = {"access_type": "ip", "access_to": "10.0.0.1", "access_level": "ro"}
        rule = world.act(share, "os-allow_access", body, status=200, version="2.0")["access"]
        assert set(rule) == BASE | {"share_id"}
        world.settled(share)
        (listed,) = world.act(share, "os-access_list", status=200, version="2.6")["access_list"]
        assert (listed["state"], listed["access_level"]) == ("active", "ro")
        world.act(share, "os-deny_access", {"access_id": rule["id"]}, version="2.6")
        assert world.settled(share) == {}
        for name, version in (("os-allow_access", "2.7"), ("allow_access", "2.6"), ("access_list", "2.45")):
            world.refused(404, "POST", f"/shares/{share}/action", {name: body}, version=version)

    def test_below_2_28_the_share_speaks_for_its_rules(self, world: World) -> None:
        share = world.share()
        hangs = world.hang("apply_access")
        body = {"access_type": "ip", "access_to": "10.0.0.1"}
        rule = world.act(share, "allow_access", body, status=200, version="2.27")["access"]
        assert rule["state"] == "new"
        hangs()
        assert world.rules(share)[0]["state"] == "applying"
        world.driver.release()
        world.settled(share)

        def state() -> str:
            (listed,) = world.act(share, "access_list", status=200, version="2.27")["access_list"]
            found: str = listed["state"]
            return found

        assert state() == "active"
        world.driver.dial("access_rule", match="10.0.0.9", fail="no")
        world.allow(share, "10.0.0.9")
        world.settled(share)
        listed = world.act(share, "access_list", status=200, version="2.27")["access_list"]
        assert [one["state"] for one in listed] == ["error", "error"]
        assert "in error" in world.not_allowed(400, share, "10.0.0.2", version="2.27")
        world.act(share, "allow_access", {"access_type": "ip", "access_to": "10.0.0.2"}, status=200, version="2.28")

    def test_show(self, world: World) -> None:
        share = world.share()
        rule = world.allow(share, "10.0.0.1", metadata={"who": "web"})
        world.settled(share)
        shown = world.ok("GET", f"/share-access-rules/{rule['id']}", version="2.45")["access"]
        assert (shown["metadata"], shown["state"], shown["share_id"]) == ({"who": "web"}, "active", share)
        assert world.call("GET", f"/share-access-rules/{rule['id']}", version="2.44").status_code == 404
        assert world.call("GET", f"/share-access-rules/{new_id()}").status_code == 404


class TestRefusals:
    def test_what_cannot_be_let_in(self, world: World) -> None:
        share = world.share()
        world.not_allowed(400, share, "1.2.3.256")
        world.not_allowed(400, share, "10.0.0.1", kind="fake")
        world.not_allowed(400, share, "fd00::1", version="2.37")
        world.not_allowed(400, share, "alice", kind="cephx", version="2.12")
        world.not_allowed(400, share, "10.0.0.1", access_level="su")
        world.not_allowed(400, share, "10.0.0.1", metadata={"k": ""})
        body: Any
        for body in ({}, {"access_type": "ip"}, {"access_to": "10.0.0.1"}, None, {"access_type": 1, "access_to": "x"}):
            world.refused(400, "POST", f"/shares/{share}/action", {"allow_access": body})
        assert world.rules(share) == []

    def test_a_second_rule_for_the_same(self, world: World) -> None:
        share = world.share()
        world.allow(share, "10.0.0.1")
        assert "exists already" in world.not_allowed(400, share, "10.0.0.1", access_level="ro")
        assert "exists already" in world.not_allowed(400, share, "10.0.0.1/32")
        world.allow(world.share(), "10.0.0.1")

    def test_other_projects_find_nothing(self, world: World) -> None:
        share = world.share()
        rule = world.allow(share, "10.0.0.1")
        path = f"/share-access-rules/{rule['id']}"
        assert world.call("GET", path, who="member_b").status_code == 404
        assert world.call("PUT", path, {"update_access": {"access_level": "ro"}}, who="member_b").status_code == 404
        assert world.call("PUT", f"{path}/metadata", {"metadata": {}}, who="member_b").status_code == 404
        world.refused(400, "GET", f"/share-access-rules?share_id={share}", who="member_b")
        world.not_allowed(404, share, "10.0.0.2", who="member_b")
        world.deny(share, rule["id"], status=404, who="member_b")

    def test_rules_of_a_public_share_are_its_projects(self, world: World) -> None:
        share = world.share(who="admin_a", is_public=True)
        rule = world.allow(share, "10.0.0.1")
        assert world.call("GET", f"/shares/{share}", who="member_b").status_code == 200
        world.refused(403, "GET", f"/share-access-rules?share_id={share}", who="member_b")
        world.refused(403, "POST", f"/shares/{share}/action", {"access_list": None}, who="member_b", version="2.40")
        world.not_allowed(403, share, "10.0.0.2", who="member_b")
        world.deny(share, rule["id"], status=403, who="member_b")

    def test_readers_only_read(self, world: World) -> None:
        share = world.share()
        rule = world.allow(share, "10.0.0.1")
        assert len(world.rules(share, who="reader_a")) == 1
        world.not_allowed(403, share, "10.0.0.2", who="reader_a")
        world.deny(share, rule["id"], status=403, who="reader_a")
        path = f"/share-access-rules/{rule['id']}"
        world.refused(403, "PUT", path, {"update_access": {"access_level": "ro"}}, who="reader_a")
        world.refused(403, "PUT", f"{path}/metadata", {"metadata": {"a": "b"}}, who="reader_a")

    def test_a_rule_of_another_share(self, world: World) -> None:
        share, other = world.share(), world.share()
        rule = world.allow(share, "10.0.0.1")
        world.deny(other, rule["id"], status=404)
        world.deny(other, new_id(), status=404)
        assert world.settled(share) == {"10.0.0.1": "active"}

    def test_a_share_on_its_way(self, world: World) -> None:
        share = world.share()
        rule = world.allow(share, "10.0.0.1")
        world.settled(share)
        hangs = world.hang("extend_share")
        world.act(share, "extend", {"new_size": 2})
        hangs()
        assert "extending" in world.not_allowed(400, share, "10.0.0.2")
        world.deny(share, rule["id"], status=400)
        path = f"/share-access-rules/{rule['id']}"
        world.refused(400, "PUT", path, {"update_access": {"access_level": "ro"}})
        world.driver.release()
        assert world.rest(f"/shares/{share}") == "available"
        world.allow(share, "10.0.0.2")

    def test_a_share_in_error(self, world: World) -> None:
        share = world.share()
        rule = world.allow(share, "10.0.0.1")
        world.settled(share)
        world.act(share, "reset_status", {"status": "error"}, who="admin_a")
        world.not_allowed(400, share, "10.0.0.2", version="2.73")
        world.refused(
            400, "POST", f"/shares/{share}/action", {"deny_access": {"access_id": rule["id"]}}, version="2.73"
        )
        world.deny(share, rule["id"])
        assert world.settled(share) == {}

    def test_a_share_in_the_recycle_bin(self, world: World) -> None:
        share = world.share()
        rule = world.allow(share, "10.0.0.1")
        world.settled(share)
        world.act(share, "soft_delete")
        assert "recycle bin" in world.not_allowed(403, share, "10.0.0.2")
        world.deny(share, rule["id"], status=403)
        assert world.enforced() == {"ip 10.0.0.1 rw"}
        world.act(share, "restore")
        world.deny(share, rule["id"])
        assert world.settled(share) == {}

    def test_a_level_needs_its_body(self, world: World) -> None:
        rule = world.allow(world.share(), "10.0.0.1")
        path = f"/share-access-rules/{rule['id']}"
        body: Any
        for body in ({}, {"update_access": {}}, {"update_access": {"access_level": "su"}}, {"update_access": None}):
            world.refused(400, "PUT", path, body)
        assert world.call("PUT", path, {"update_access": {"access_level": "ro"}}, version="2.87").status_code == 404


class TestMetadata:
    def test_is_merged_and_removed(self, world: World) -> None:
        rule = world.allow(world.share(), "10.0.0.1", metadata={"a": "1"})
        path = f"/share-access-rules/{rule['id']}/metadata"
        assert world.ok("PUT", path, {"metadata": {"b": "2"}}, version="2.45") == {"metadata": {"a": "1", "b": "2"}}
        world.ok("DELETE", f"{path}/a")
        world.refused(404, "DELETE", f"{path}/a")
        assert world.ok("GET", f"/share-access-rules/{rule['id']}")["access"]["metadata"] == {"b": "2"}
        body: Any
        for body in ({}, {"metadata": {"": "x"}}, {"metadata": {"k": "v" * 1024}}, {"metadata": {"k" * 256: "v"}}):
            world.refused(400, "PUT", path, body)


class TestLists:
    @pytest.fixture
    def share(self, world: World) -> str:
        share = world.share(share_proto="CIFS")
        world.allow(share, "10.0.0.1", metadata={"role": "web"})
        world.allow(share, "10.0.0.2", access_level="ro", metadata={"role": "db", "rack": "1"})
        world.allow(share, "alice", kind="user")
        world.settled(share)
        return share

    def test_need_a_share(self, world: World) -> None:
        world.refused(400, "GET", "/share-access-rules")
        world.refused(400, "GET", f"/share-access-rules?share_id={new_id()}")
        assert world.call("GET", f"/share-access-rules?share_id={new_id()}", version="2.44").status_code == 404

    def test_filters(self, world: World, share: str) -> None:
        for query, found in (
            ("", ["alice", "10.0.0.2", "10.0.0.1"]),
            ("&access_type=ip", ["10.0.0.2", "10.0.0.1"]),
            ("&access_type=ip&access_to=10.0.0.2", ["10.0.0.2"]),
            ("&access_level=ro", ["10.0.0.2"]),
            ("&metadata={'role': 'web'}", ["10.0.0.1"]),
            ("&metadata={'role': 'db', 'rack': '1'}", ["10.0.0.2"]),
            ("&sort_key=access_to&sort_dir=asc", ["10.0.0.1", "10.0.0.2", "alice"]),
            ("&limit=1", ["alice"]),
            ("&whatever=1", ["alice", "10.0.0.2", "10.0.0.1"]),
        ):
            assert [rule["access_to"] for rule in world.rules(share, query=query)] == found, query

    def test_wrong_filters(self, world: World, share: str) -> None:
        for query in (
            "&access_type=fake",
            "&access_to=10.0.0.1",
            "&access_type=ip&access_to=alice",
            "&access_level=su",
            "&metadata=x",
            "&sort_key=nothing",
            "&sort_dir=up",
        ):
            world.refused(400, "GET", f"/share-access-rules?share_id={share}{query}")

    def test_older_versions_filter_by_metadata_only(self, world: World, share: str) -> None:
        path = f"/share-access-rules?share_id={share}&access_type=fake&access_level=ro"
        assert len(world.ok("GET", path, version="2.81")["access_list"]) == 3


class TestCephx:
    """Ids of others, and keys."""

    def test_an_id_that_is_refused_and_one_that_gets_a_key(self, tmp_path: Any) -> None:
        backends = {"sim": {"share_driver": "simulated", "simulated_protocols": "CEPHFS"}}
        with World(tmp_path, backends, enabled_share_protocols=["CEPHFS"]) as world:
            share = world.share(share_proto="CEPHFS")
            world.driver.dial("access_rule", match="admin", fail="the id admin is not yours")
            refused = world.allow(share, "admin", kind="cephx")
            mine = world.allow(share, "alice", kind="cephx")
            assert world.settled(share) == {"admin": "error", "alice": "active"}
            assert world.told(share) == [("SHARE", "010", "020")]
            key = world.ok("GET", f"/share-access-rules/{mine['id']}")["access"]["access_key"]
            assert len(key) == 32
            assert world.ok("GET", f"/share-access-rules/{refused['id']}")["access"]["access_key"] is None
            (found,) = world.rules(share, query=f"&access_key={key}")
            assert found["id"] == mine["id"]
            # A key stays as it is while other rules come and go.
            world.allow(share, "bob", kind="cephx")
            world.settled(share)
            assert world.ok("GET", f"/share-access-rules/{mine['id']}")["access"]["access_key"] == key
