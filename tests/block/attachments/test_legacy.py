"""The older actions that attach and detach."""

from __future__ import annotations

from typing import Any

import pytest

from pumice.kernel.db.base import new_id
from tests.block.attachments.world import CONNECTOR, OTHER_CONNECTOR, OTHER_SERVER, SERVER, World
from tests.support.waiting import eventually


def attach(world: World, volume: str, status: int = 202, **values: Any) -> Any:
    body = {"os-attach": {"mountpoint": "/dev/vdb", **values}}
    return world.send("POST", f"/volumes/{volume}/action", body, version="3.0").status_code == status


def shown(world: World, volume: str) -> dict[str, Any]:
    found: dict[str, Any] = world.ok("GET", f"/volumes/{volume}", version="3.0")["volume"]
    return found


class TestWholeWay:
    def test_attach_and_detach_step_by_step(self, world: World) -> None:
        volume = world.volume()
        world.action(volume, "os-reserve", version="3.0")
        assert shown(world, volume)["status"] == "attaching"
        info = world.action(volume, "os-initialize_connection", {"connector": CONNECTOR}, status=200)["connection_info"]
        assert set(info) == {"driver_volume_type", "data", "enforce_multipath"}
        assert info["data"]["access_mode"] == "rw"
        (connection,) = world.connections(volume)
        assert world.exports() == {connection.id}
        assert attach(world, volume, instance_uuid=SERVER, host_name="compute1")
        seen = shown(world, volume)
        assert seen["status"] == "in-use"
        assert seen["metadata"] == {"attached_mode": "rw"}
        (one,) = seen["attachments"]
        assert (one["server_id"], one["device"]) == (SERVER, "/dev/vdb")

        world.action(volume, "os-begin_detaching", version="3.0")
        assert shown(world, volume)["status"] == "detaching"
        world.action(volume, "os-terminate_connection", {"connector": CONNECTOR})
        assert world.exports() == frozenset()
        assert world.connections(volume) == []
        assert shown(world, volume)["status"] == "detaching"
        world.action(volume, "os-detach", {"attachment_id": one["attachment_id"]})
        assert world.statuses(volume) == ("available", "detached")
        assert shown(world, volume)["metadata"] == {}
        assert world.all_wrong() == []


class TestReserve:
    def test_only_once(self, world: World) -> None:
        volume = world.volume()
        world.action(volume, "os-reserve", {})
        assert "attaching" in world.no_action(400, volume, "os-reserve")
        world.action(volume, "os-unreserve")
        assert world.statuses(volume)[0] == "available"
        world.action(volume, "os-unreserve")
        assert world.statuses(volume)[0] == "available"

    def test_in_use_is_for_shared_volumes(self, world: World) -> None:
        volume = world.volume()
        assert attach(world, volume, host_name="h")
        world.no_action(400, volume, "os-reserve")
        world.set(volume, multiattach=True)
        world.action(volume, "os-reserve")
        assert world.statuses(volume)[0] == "attaching"
        world.action(volume, "os-unreserve")
        assert world.statuses(volume)[0] == "in-use"


class TestAttach:
    def test_whom_to_is_needed(self, world: World) -> None:
        assert "host_name" in world.no_action(400, world.volume(), "os-attach", {"mountpoint": "/dev/vdb"})

    @pytest.mark.parametrize("status", ["maintenance", "error", "creating", "reserved", "detaching", "extending"])
    def test_statuses_that_refuse(self, world: World, status: str) -> None:
        volume = world.volume()
        world.set(volume, status=status)
        assert attach(world, volume, 400, host_name="h")
        assert world.statuses(volume) == (status, "detached")

    def test_readonly_takes_ro_alone(self, world: World) -> None:
        volume = world.volume()
        world.action(volume, "os-update_readonly_flag", {"readonly": True})
        assert attach(world, volume, 400, host_name="h")
        assert attach(world, volume, host_name="h", mode="ro")
        assert shown(world, volume)["metadata"] == {"readonly": "True", "attached_mode": "ro"}

    def test_attaching_keeps_its_mode(self, world: World) -> None:
        volume = world.volume()
        world.set(volume, status="attaching", admin_meta={"attached_mode": "ro"})
        assert attach(world, volume, 400, host_name="h")
        assert attach(world, volume, host_name="h", mode="ro")

    def test_the_same_server_again_changes_nothing(self, world: World) -> None:
        volume = world.volume()
        assert attach(world, volume, instance_uuid=SERVER)
        assert attach(world, volume, instance_uuid=SERVER)
        assert attach(world, volume, 400, instance_uuid=OTHER_SERVER)
        assert attach(world, volume, 400, host_name="h")
        assert len(shown(world, volume)["attachments"]) == 1
        world.set(volume, multiattach=True)
        assert attach(world, volume, instance_uuid=OTHER_SERVER)
        assert len(shown(world, volume)["attachments"]) == 2


class TestDetach:
    def test_which_of_several(self, world: World) -> None:
        volume, other = world.shared(), world.volume()
        assert attach(world, volume, instance_uuid=SERVER)
        assert attach(world, volume, instance_uuid=OTHER_SERVER)
        assert attach(world, other, host_name="h")
        nova = {"who": "member_a_via_service"}
        world.no_action(400, volume, "os-detach", {}, **nova)
        world.no_action(409, volume, "os-detach", {})
        world.no_action(400, volume, "os-detach", {"attachment_id": new_id()}, **nova)
        world.no_action(409, volume, "os-detach", {"attachment_id": new_id()})
        elsewhere = shown(world, other)["attachments"][0]["attachment_id"]
        world.no_action(400, volume, "os-detach", {"attachment_id": elsewhere})
        one, two = (each["attachment_id"] for each in shown(world, volume)["attachments"])
        world.action(volume, "os-detach", {"attachment_id": one})
        assert world.statuses(volume) == ("in-use", "attached")
        world.action(volume, "os-detach", {"attachment_id": two})
        assert world.statuses(volume) == ("available", "detached")

    def test_without_an_attachment(self, world: World) -> None:
        volume = world.volume()
        world.action(volume, "os-reserve")
        world.action(volume, "os-detach", {"attachment_id": None})
        assert world.statuses(volume) == ("available", "detached")
        for status in ("error", "awaiting-transfer"):
            world.set(volume, status=status)
            world.action(volume, "os-detach", {})
            assert world.statuses(volume)[0] == status
        world.set(volume, status="maintenance")
        world.no_action(400, volume, "os-detach", {})

    def test_one_that_is_connected_loses_its_export(self, world: World) -> None:
        volume = world.volume()
        id = world.attached(volume)["id"]
        world.action(volume, "os-detach", {"attachment_id": id})
        assert world.exports() == frozenset()
        assert world.statuses(volume) == ("available", "detached")

    def test_begin_and_roll(self, world: World) -> None:
        volume = world.volume()
        world.no_action(400, volume, "os-begin_detaching")
        world.action(volume, "os-roll_detaching")
        assert world.statuses(volume)[0] == "available"
        assert attach(world, volume, host_name="h")
        world.action(volume, "os-begin_detaching")
        world.no_action(400, volume, "os-begin_detaching")
        world.action(volume, "os-roll_detaching", {})
        assert world.statuses(volume)[0] == "in-use"
        world.set(volume, migration_status="migrating")
        world.action(volume, "os-begin_detaching")
        assert world.statuses(volume)[0] == "in-use"


class TestConnections:
    def test_a_connector_has_one_connection(self, world: World) -> None:
        volume = world.volume()

        def connect(connector: Any) -> Any:
            body = {"connector": connector}
            return world.action(volume, "os-initialize_connection", body, status=200)["connection_info"]

        first = connect(CONNECTOR)
        assert connect(CONNECTOR) == first
        other = connect({**OTHER_CONNECTOR, "enforce_multipath": True})
        assert other["enforce_multipath"] is True
        assert other["data"] != first["data"]
        assert len(world.exports()) == 2
        world.action(volume, "os-terminate_connection", {"connector": {"host": "compute2"}})
        assert [row.connector for row in world.connections(volume)] == [CONNECTOR]
        connect(OTHER_CONNECTOR)
        world.action(volume, "os-terminate_connection", {"connector": None})
        assert world.exports() == frozenset()
        world.action(volume, "os-terminate_connection", {"connector": None})

    def test_a_readonly_volume_is_exported_read_only(self, world: World) -> None:
        volume = world.volume()
        world.action(volume, "os-update_readonly_flag", {"readonly": True})
        info = world.action(volume, "os-initialize_connection", {"connector": CONNECTOR}, status=200)
        assert info["connection_info"]["data"]["access_mode"] == "ro"

    @pytest.mark.parametrize("status", ["maintenance", "error", "deleting"])
    def test_statuses_that_refuse(self, world: World, status: str) -> None:
        volume = world.volume()
        world.set(volume, status=status)
        world.no_action(400, volume, "os-initialize_connection", {"connector": CONNECTOR})

    def test_text_is_no_connector(self, world: World) -> None:
        volume = world.volume()
        world.no_action(400, volume, "os-initialize_connection", {"connector": "compute1"})
        world.no_action(400, volume, "os-initialize_connection", {"connector": None})
        world.no_action(400, volume, "os-initialize_connection", {})
        world.no_action(400, volume, "os-terminate_connection", {"connector": "compute1"})

    def test_backends_that_refuse(self, world: World) -> None:
        volume = world.volume()
        world.driver.dial("connect", fail="no targets left", fail_times=1)
        text = world.no_action(500, volume, "os-initialize_connection", {"connector": CONNECTOR})
        assert "no targets left" in text
        assert world.messages(volume) == ["VOLUME_VOLUME_002_001"]
        world.action(volume, "os-initialize_connection", {"connector": CONNECTOR}, status=200)
        world.driver.dial("disconnect", fail="busy", fail_times=1)
        assert "busy" in world.no_action(500, volume, "os-terminate_connection", {"connector": CONNECTOR})
        world.service.restore_exports()
        world.action(volume, "os-terminate_connection", {"connector": CONNECTOR})
        assert world.connections(volume) == []
        assert world.exports() == frozenset()

    def test_terminating_unreserves(self, world: World) -> None:
        volume = world.volume()
        world.action(volume, "os-reserve")
        world.action(volume, "os-terminate_connection", {"connector": CONNECTOR})
        assert world.statuses(volume)[0] == "available"

    def test_no_answer_in_time(self, world: World) -> None:
        volume = world.volume()
        world.driver.dial("connect", hang=True, fail_times=1, after=True)
        with world.impatient():
            world.no_action(500, volume, "os-initialize_connection", {"connector": CONNECTOR})
        world.driver.release()
        eventually(lambda: world.connections(volume) == [])
        assert world.exports() == frozenset()

    def test_deleting_the_volume_ends_them(self, world: World) -> None:
        volume = world.volume()
        world.action(volume, "os-initialize_connection", {"connector": CONNECTOR}, status=200)
        world.ok("DELETE", f"/volumes/{volume}", status=202)
        assert world.rest(f"/volumes/{volume}") == "gone"
        assert world.exports() == frozenset()


class TestForceDetach:
    def test_ends_connection_and_attachment(self, world: World) -> None:
        volume = world.volume()
        world.action(volume, "os-initialize_connection", {"connector": CONNECTOR}, status=200)
        assert attach(world, volume, instance_uuid=SERVER, host_name="compute1")
        (one,) = shown(world, volume)["attachments"]
        body = {"attachment_id": one["attachment_id"], "connector": None}
        world.no_action(403, volume, "os-force_detach", body)
        world.no_action(409, volume, "os-force_detach", {"attachment_id": "x"}, who="admin")
        world.action(volume, "os-force_detach", body, who="admin")
        assert world.statuses(volume) == ("available", "detached")
        assert world.exports() == frozenset()
        assert world.connections(volume) == []

    def test_other_hosts_keep_their_connections(self, world: World) -> None:
        volume = world.shared()
        for connector, server in ((CONNECTOR, SERVER), (OTHER_CONNECTOR, OTHER_SERVER)):
            world.action(volume, "os-initialize_connection", {"connector": connector}, status=200)
            assert attach(world, volume, instance_uuid=server, host_name=connector["host"])
        one, _two = (each["attachment_id"] for each in shown(world, volume)["attachments"])
        world.action(volume, "os-force_detach", {"attachment_id": one}, who="admin")
        assert [row.connector for row in world.connections(volume)] == [OTHER_CONNECTOR]
        assert world.statuses(volume) == ("in-use", "attached")

    def test_a_backend_that_refuses(self, world: World) -> None:
        volume = world.volume()
        id = world.attached(volume)["id"]
        world.driver.dial("disconnect", fail="busy", fail_times=1)
        world.no_action(500, volume, "os-force_detach", {"attachment_id": id}, who="admin")
        world.action(volume, "os-force_detach", {"attachment_id": id}, who="admin")
        assert world.statuses(volume) == ("available", "detached")


class TestReset:
    def test_detached_takes_attachments_and_exports_away(self, world: World) -> None:
        volume = world.shared()
        world.attached(volume, instance_uuid=SERVER)
        world.attachment(volume, instance_uuid=OTHER_SERVER)
        world.action(volume, "os-initialize_connection", {"connector": OTHER_CONNECTOR}, status=200)
        assert len(world.exports()) == 2
        world.driver.dial("disconnect", latency=0.5, fail_times=1)
        world.action(volume, "os-reset_status", {"status": "available", "attach_status": "detached"}, who="admin")
        assert world.statuses(volume) == ("available", "detached")
        assert world.ok("GET", "/attachments") == {"attachments": []}
        world.service.restore_exports()
        eventually(lambda: world.exports() == frozenset())
        eventually(lambda: world.all_wrong() == [])
        assert world.connections(volume) == []
