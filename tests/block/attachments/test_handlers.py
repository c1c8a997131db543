"""The attachments API against the simulated backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from pumice.kernel.db.base import new_id
from tests.block.attachments.world import CONNECTOR, OTHER_CONNECTOR, OTHER_SERVER, SERVER, World, at_once
from tests.support.waiting import eventually


class TestFlows:
    def test_reserve_connect_complete_delete(self, world: World) -> None:
        volume = world.volume()
        made = world.attachment(volume, instance_uuid=SERVER)
        id = made["id"]
        assert made == {
            "id": id,
            "status": "reserved",
            "instance": SERVER,
            "volume_id": volume,
            "attached_at": None,
            "detached_at": None,
            "attach_mode": None,
            "connection_info": {},
        }
        assert world.statuses(volume) == ("reserved", "reserved")
        assert world.exports() == frozenset()

        connected = world.connect(id)
        assert connected["status"] == "attaching"
        info = connected["connection_info"]
        assert info["driver_volume_type"] == "iscsi"
        assert info["attachment_id"] == id
        assert info["volume_id"] == volume
        assert {name: info[name] for name in ("access_mode", "encrypted", "qos_specs", "enforce_multipath")} == {
            "access_mode": "rw",
            "encrypted": False,
            "qos_specs": None,
            "enforce_multipath": False,
        }
        assert info["cacheable"] is False
        assert "discard" not in info
        assert world.statuses(volume) == ("attaching", "attaching")
        assert world.exports() == {id}

        world.complete(id)
        shown = world.ok("GET", f"/attachments/{id}")["attachment"]
        assert shown["status"] == "attached"
        assert shown["attached_at"] is not None
        assert shown["connection_info"] == info
        assert world.statuses(volume) == ("in-use", "attached")
        seen = world.ok("GET", f"/volumes/{volume}")["volume"]["attachments"]
        assert [(one["attachment_id"], one["server_id"]) for one in seen] == [(id, SERVER)]

        left = world.ok("DELETE", f"/attachments/{id}", who="member_a_via_service")
        assert left == {"attachments": []}
        assert world.statuses(volume) == ("available", "detached")
        assert world.exports() == frozenset()
        assert world.all_wrong() == []

    def test_one_step_without_a_server(self, world: World) -> None:
        volume = world.volume()
        made = world.attachment(volume, connector=CONNECTOR, mode="ro")
        assert made["status"] == "attaching"
        assert made["attach_mode"] == "ro"
        assert made["connection_info"]["access_mode"] == "ro"
        assert made["instance"] is None
        assert world.exports() == {made["id"]}

    def test_a_server_that_moves_has_two(self, world: World) -> None:
        volume = world.volume()
        source = world.attached(volume, instance_uuid=SERVER)
        world.refused(400, "POST", "/attachments", {"attachment": {"volume_uuid": volume}})
        world.refused(
            400, "POST", "/attachments", {"attachment": {"volume_uuid": volume, "instance_uuid": OTHER_SERVER}}
        )
        target = world.attachment(volume, instance_uuid=SERVER)
        assert world.statuses(volume) == ("in-use", "attached")
        text = world.refused(409, "PUT", f"/attachments/{target['id']}", {"attachment": {"connector": CONNECTOR}})
        assert "compute1" in text
        world.connect(target["id"], OTHER_CONNECTOR)
        assert world.statuses(volume) == ("in-use", "attached")
        left = world.ok("DELETE", f"/attachments/{source['id']}", who="member_a_via_service")["attachments"]
        assert left == [{"id": target["id"], "status": "attaching", "instance": SERVER, "volume_id": volume}]
        assert world.statuses(volume) == ("attaching", "attaching")
        assert world.exports() == {target["id"]}

    def test_a_reserved_volume_takes_a_second_of_the_same_server(self, world: World) -> None:
        volume = world.volume()
        first = world.attachment(volume, instance_uuid=SERVER)
        world.attachment(volume, instance_uuid=SERVER)
        world.ok("DELETE", f"/attachments/{first['id']}")
        assert world.statuses(volume) == ("reserved", "reserved")

    def test_shared_volumes_are_attached_many_times(self, world: World) -> None:
        volume = world.shared()
        one = world.attached(volume, instance_uuid=SERVER)
        two = world.attached(volume, OTHER_CONNECTOR, instance_uuid=OTHER_SERVER)
        assert world.exports() == {one["id"], two["id"]}
        world.ok("DELETE", f"/attachments/{one['id']}", who="member_a_via_service")
        assert world.statuses(volume) == ("in-use", "attached")
        world.ok("DELETE", f"/attachments/{two['id']}", who="member_a_via_service")
        assert world.statuses(volume) == ("available", "detached")

    def test_a_bootable_shared_volume_in_use_needs_a_policy(self, tmp_path: Path) -> None:
        policy = tmp_path / "policy.yaml"
        policy.write_text('"volume:multiattach_bootable_volume": "role:admin"\n')
        with World(tmp_path, sections={"oslo_policy": {"policy_file": str(policy)}}) as world:
            volume = world.shared(bootable=True)
            world.attached(volume, instance_uuid=SERVER)
            body = {"attachment": {"volume_uuid": volume, "instance_uuid": OTHER_SERVER}}
            world.refused(403, "POST", "/attachments", body)
            world.ok("POST", "/attachments", body, who="admin")

    def test_the_same_connector_again_gets_the_same_connection(self, world: World) -> None:
        volume = world.volume()
        id = world.attachment(volume)["id"]
        first = world.connect(id)["connection_info"]
        assert world.connect(id)["connection_info"] == first
        assert world.connect(id, {**OTHER_CONNECTOR, "enforce_multipath": True})["connection_info"] != first
        assert world.ok("GET", f"/attachments/{id}")["attachment"]["connection_info"]["enforce_multipath"] is True
        assert world.exports() == {id}


class TestRules:
    @pytest.mark.parametrize("status", ["error", "creating", "maintenance", "extending", "attaching", "detaching"])
    def test_create_is_refused(self, world: World, status: str) -> None:
        volume = world.volume()
        world.set(volume, status=status)
        text = world.refused(400, "POST", "/attachments", {"attachment": {"volume_uuid": volume}})
        assert "status" in text
        assert world.statuses(volume) == (status, "detached")

    def test_update_of_a_volume_in_error_is_refused(self, world: World) -> None:
        volume = world.volume()
        id = world.attachment(volume)["id"]
        for status in ("error", "error_extending"):
            world.set(volume, status=status)
            world.refused(409, "PUT", f"/attachments/{id}", {"attachment": {"connector": CONNECTOR}})

    def test_readonly_volumes_are_attached_read_only(self, world: World) -> None:
        volume = world.volume()
        world.action(volume, "os-update_readonly_flag", {"readonly": False})
        assert world.attachment(volume, mode="rw")["attach_mode"] == "ro"
        volume = world.volume()
        world.action(volume, "os-update_readonly_flag", {"readonly": True})
        assert world.attachment(volume, version="3.27")["attach_mode"] == "ro"

    @pytest.mark.parametrize(
        "attachment",
        [
            {},
            {"volume_uuid": "x"},
            {"volume_uuid": None},
            {"volume_uuid": new_id(), "instance_uuid": "x"},
            {"volume_uuid": new_id(), "connector": "x"},
            {"volume_uuid": new_id(), "connector": {"host": 7}},
            {"volume_uuid": new_id(), "connector": {"host": "h", "mountpoint": "m" * 256}},
            {"volume_uuid": new_id(), "mode": "rx"},
            {"volume_uuid": new_id(), "more": 1},
        ],
    )
    def test_bodies_that_are_refused(self, world: World, attachment: object) -> None:
        world.refused(400, "POST", "/attachments", {"attachment": attachment})

    @pytest.mark.parametrize("connector", [None, {}, "x", {"initiator": "iqn.x"}, {"host": ""}, {"host": 7}])
    def test_connectors_that_are_refused(self, world: World, connector: object) -> None:
        id = world.attachment(world.volume())["id"]
        text = world.refused(400, "PUT", f"/attachments/{id}", {"attachment": {"connector": connector}})
        assert "connector" in text
        assert world.state(id) == "reserved"

    def test_what_is_not_there(self, world: World) -> None:
        id = new_id()
        world.refused(404, "GET", f"/attachments/{id}")
        world.refused(404, "PUT", f"/attachments/{id}", {"attachment": {"connector": CONNECTOR}})
        world.refused(404, "DELETE", f"/attachments/{id}")
        world.refused(404, "POST", f"/attachments/{id}/action", {"os-complete": None})
        world.refused(404, "POST", "/attachments", {"attachment": {"volume_uuid": id}})

    def test_strangers_and_readers(self, world: World) -> None:
        volume = world.volume()
        id = world.attachment(volume)["id"]
        for method, path, body in (
            ("GET", f"/attachments/{id}", None),
            ("PUT", f"/attachments/{id}", {"attachment": {"connector": CONNECTOR}}),
            ("DELETE", f"/attachments/{id}", None),
            ("POST", f"/attachments/{id}/action", {"os-complete": {}}),
            ("POST", "/attachments", {"attachment": {"volume_uuid": volume}}),
        ):
            world.refused(404, method, path, body, who="member_b")
            if method != "GET":
                world.refused(403, method, path, body, who="reader_a")
        assert world.ok("GET", "/attachments", who="member_b") == {"attachments": []}
        assert world.statuses(volume) == ("reserved", "reserved")

    def test_versions(self, world: World) -> None:
        volume = world.volume()
        body = {"attachment": {"volume_uuid": volume, "mode": "ro"}}
        world.refused(404, "POST", "/attachments", body, version="3.26")
        world.refused(400, "POST", "/attachments", body, version="3.53")
        id = world.attachment(volume, version="3.54", mode="ro")["id"]
        world.refused(404, "GET", "/attachments", version="3.26")
        world.refused(404, "POST", f"/attachments/{id}/action", {"os-complete": {}}, version="3.43")
        world.ok("POST", f"/attachments/{id}/action", {"os-complete": {}}, version="3.44", status=204)


class TestLists:
    def test_filters_and_pages(self, world: World) -> None:
        one, two = world.volume(), world.volume()
        first = world.attachment(one, instance_uuid=SERVER)["id"]
        second = world.attached(two, instance_uuid=OTHER_SERVER)["id"]

        def ids(query: str = "", who: str = "member_a") -> list[str]:
            return [row["id"] for row in world.ok("GET", f"/attachments?{query}", who=who)["attachments"]]

        assert ids() == [second, first]
        assert ids(f"volume_id={one}") == [first]
        assert ids(f"instance_id={OTHER_SERVER}") == [second]
        assert ids("status=attached") == [second]
        assert ids("attach_status=reserved") == [first]
        assert ids("sort=created_at:asc&limit=1") == [first]
        assert ids(f"marker={second}") == [first]
        assert ids(who="admin") == []
        assert ids("all_tenants=1", who="admin") == [second, first]
        assert ids("attached_host=compute1&all_tenants=1", who="admin") == [second]
        assert ids("connection=x&all_tenants=1", who="admin") == []
        world.refused(400, "GET", "/attachments?attached_host=compute1")
        page = world.ok("GET", "/attachments?limit=1")
        assert page["attachments_links"][0]["rel"] == "next"
        assert set(page["attachments"][0]) == {"id", "status", "instance", "volume_id"}
        detail = world.ok("GET", "/attachments/detail")["attachments"]
        assert [row["connection_info"] == {} for row in detail] == [False, True]


class TestFailures:
    def test_a_backend_that_refuses_to_connect(self, world: World) -> None:
        volume = world.volume()
        id = world.attachment(volume)["id"]
        world.driver.dial("connect", fail="no more targets", fail_times=1, after=True)
        text = world.refused(500, "PUT", f"/attachments/{id}", {"attachment": {"connector": CONNECTOR}})
        assert "no more targets" in text
        assert world.state(id) == "error_attaching"
        assert world.statuses(volume) == ("reserved", "error_attaching")
        assert world.exports() == frozenset()
        assert world.messages(volume) == ["VOLUME_VOLUME_004_001"]
        assert world.connect(id)["status"] == "attaching"

    def test_one_step_leaves_an_attachment_to_be_deleted(self, world: World) -> None:
        volume = world.volume()
        world.driver.dial("connect", fail="no", fail_times=1)
        world.refused(500, "POST", "/attachments", {"attachment": {"volume_uuid": volume, "connector": CONNECTOR}})
        (row,) = world.ok("GET", "/attachments")["attachments"]
        assert row["status"] == "error_attaching"
        world.ok("DELETE", f"/attachments/{row['id']}")
        assert world.statuses(volume) == ("available", "detached")

    def test_a_backend_that_refuses_to_disconnect(self, world: World) -> None:
        volume = world.volume()
        id = world.attached(volume)["id"]
        world.driver.dial("disconnect", fail="busy", fail_times=1)
        assert "busy" in world.refused(500, "DELETE", f"/attachments/{id}")
        assert world.state(id) == "error_detaching"
        assert world.statuses(volume) == ("in-use", "error_detaching")
        world.service.restore_exports()
        assert world.exports() == {id}
        world.ok("DELETE", f"/attachments/{id}")
        assert world.statuses(volume) == ("available", "detached")
        assert world.all_wrong() == []

    def test_an_export_that_the_backend_has_lost_is_no_failure(self, world: World) -> None:
        volume = world.volume()
        id = world.attached(volume)["id"]
        world.driver.lose(id)
        world.ok("DELETE", f"/attachments/{id}")
        assert world.statuses(volume) == ("available", "detached")

    def test_a_reserved_attachment_asks_nothing_of_the_backend(self, world: World) -> None:
        id = world.attachment(world.volume())["id"]
        world.driver.dial("*", fail="down")
        world.ok("DELETE", f"/attachments/{id}")
        assert world.driver.calls["disconnect"] == 0


class TestTimeouts:
    def test_a_connect_without_an_answer_is_given_up_and_tidied(self, world: World) -> None:
        volume = world.volume()
        id = world.attachment(volume)["id"]
        world.driver.dial("connect", hang=True, fail_times=1, after=True)
        with world.impatient():
            text = world.refused(500, "PUT", f"/attachments/{id}", {"attachment": {"connector": CONNECTOR}})
        assert "1 seconds" in text
        assert world.state(id) == "error_attaching"
        assert world.exports() == {id}
        world.driver.release()
        eventually(lambda: world.exports() == frozenset())
        eventually(lambda: world.all_wrong() == [])
        world.connect(id)
        assert world.exports() == {id}

    def test_a_slow_disconnect_goes_on_and_can_be_joined(self, world: World) -> None:
        volume = world.volume()
        id = world.attached(volume)["id"]
        world.driver.dial("disconnect", hang=True, fail_times=1)
        with world.impatient():
            world.refused(500, "DELETE", f"/attachments/{id}")
        assert world.statuses(volume) == ("detaching", "attached")
        world.refused(409, "POST", f"/attachments/{id}/action", {"os-complete": {}})
        released, answer = at_once(world.driver.release, lambda: world.send("DELETE", f"/attachments/{id}"))
        assert released is None
        assert answer.status_code in (200, 404)
        assert world.statuses(volume) == ("available", "detached")
