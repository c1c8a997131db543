"""What holds for every row of the block API's table: versions, strangers, readers, null and wrong values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from pumice.block.routes import API, DIALECT
from tests.support.blockservice import Block
from tests.support.identity import PROJECT_A
from tests.support.swept import STRANGER, Swept, Things


class BlockThings(Things):
    package = "block"
    dialect = DIALECT

    def ids(self) -> Mapping[str, str]:
        self._ids |= {"os-quota-sets": PROJECT_A, "default-types": PROJECT_A}
        self._volume()
        self.keep("snapshots", self._snapshot, {"os-reset_status": {"status": "available"}})
        self.keep("attachments", self._attachment)
        self.keep("types", self._type)
        self.keep("messages", self._message)
        return self._ids

    def bodies(self) -> dict[str, Any]:
        volume = {"size": 1, "name": "n", "description": "d", "metadata": {"a": "b"}, "volume_type": "__DEFAULT__"}
        connector = {"host": "h", "ip": "127.0.0.1", "initiator": "iqn.2026-11.org.example:h", "multipath": False}
        free = self._ids["volumes"]
        return {
            "POST /volumes": {
                "volume": {**volume, "availability_zone": "nova", "multiattach": False, "group_id": None}
            },
            "POST /snapshots": {
                "snapshot": {"volume_id": free, "name": "n", "description": "d", "metadata": {"a": "b"}}
            },
            "POST /attachments": {"attachment": {"volume_uuid": free, "instance_uuid": free, "connector": connector}},
            "PUT /attachments/{id}": {"attachment": {"connector": connector}},
            "POST /volumes/{id}/action os-attach": {"mountpoint": "/dev/vdb", "host_name": "h", "mode": "rw"},
            "POST /volumes/{id}/action os-initialize_connection": {"connector": connector},
            "POST /volumes/{id}/action os-terminate_connection": {"connector": connector},
            "POST /volumes/{id}/action os-extend": {"new_size": 9},
            "POST /volumes/{id}/action os-reset_status": {"status": "error", "attach_status": "detached"},
            "POST /volumes/{id}/action os-set_image_metadata": {"metadata": {"a": "b"}},
            "POST /volumes/{id}/action revert": {"snapshot_id": self._ids["snapshots"]},
            "POST /types": {
                "volume_type": {"name": f"t{self.number()}", "description": "d", "extra_specs": {"a": "b"}}
            },
            "POST /types/{type_id}/extra_specs": {"extra_specs": {"a": "b"}},
            "PUT /os-quota-sets/{id}": {"quota_set": {"volumes": -1, "gigabytes": "-1"}},
            "PUT /os-quota-class-sets/{name}": {"quota_class_set": {"volumes": -1}},
        }

    def _volume(self) -> None:
        self.keep("volumes", self._available)
        path = f"/volumes/{self._ids['volumes']}"
        if self.call("GET", path, who="admin_a").json["volume"]["status"] != "available":
            reset = {"os-reset_status": {"status": "available", "attach_status": "detached", "migration_status": None}}
            self.call("POST", f"{path}/action", who="admin_a", body=reset)

    def _available(self) -> str:
        return self.made("/volumes", {"volume": {"size": 1}})

    def _snapshot(self) -> str:
        return self.made("/snapshots", {"snapshot": {"volume_id": self._ids["volumes"]}})

    def _attachment(self) -> str:
        return self.made("/attachments", {"attachment": {"volume_uuid": self._available()}})

    def _type(self) -> str:
        body = {"volume_type": {"name": "of a", "os-volume-type-access:is_public": False}}
        id = self.made("/types", body, who="admin_a")
        access = {"addProjectAccess": {"project": PROJECT_A}}
        assert self.call("POST", f"/types/{id}/action", who="admin_a", body=access).status_code == 202
        return id

    def _message(self) -> str:
        volume = self.made("/volumes", {"volume": {"size": 2**30}}, status="error")
        (message,) = self.call("GET", f"/messages?resource_uuid={volume}").json["messages"]
        id: str = message["id"]
        return id


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockThings]:
    unlimited = {f"quota_{resource}": -1 for resource in ("volumes", "gigabytes", "snapshots")}
    with Block(tmp_path_factory.mktemp("sweeps"), **unlimited) as block:
        made = BlockThings(block)
        made.ids()
        yield made
        made.ids()
        assert block.wrong() == []


class TestBlock(Swept):
    api = API
    adds_nothing = frozenset({"POST /workers/cleanup"})

    def test_a_stranger_uses_no_id_in_a_body(self, things: BlockThings) -> None:
        ids = things.ids()
        before = things.rows()
        bodies = [
            ("/volumes", {"volume": {"source_volid": ids["volumes"]}}),
            ("/volumes", {"volume": {"snapshot_id": ids["snapshots"]}}),
            ("/volumes", {"volume": {"size": 1, "volume_type": ids["types"]}}),
            ("/volumes", {"volume": {"size": 1, "volume_type": "of a"}}),
            ("/snapshots", {"snapshot": {"volume_id": ids["volumes"]}}),
            ("/attachments", {"attachment": {"volume_uuid": ids["volumes"]}}),
            ("/attachments", {"attachment": {"volume_uuid": ids["volumes"], "connector": {"host": "h"}}}),
        ]
        for path, body in bodies:
            assert things.call("POST", path, body=body, **STRANGER).status_code == 404, body
        assert things.rows() == before

    def test_a_stranger_finds_nothing_by_filters_and_markers(self, things: BlockThings) -> None:
        ids = things.ids()
        for kind in ("volumes", "snapshots", "attachments", "messages", "operations"):
            for query in ("all_tenants=1", f"project_id={PROJECT_A}", f"id={ids[kind]}", f"marker={ids[kind]}"):
                answer = things.call("GET", f"/{kind}?{query}", version="3.30", **STRANGER)
                assert answer.status_code in {200, 404}, (kind, query, answer.text)
                assert ids[kind] not in answer.text or answer.status_code == 404, (kind, query)
        summary = things.call("GET", "/volumes/summary?all_tenants=1", **STRANGER).json["volume-summary"]
        assert summary["total_count"] == len(things.call("GET", "/volumes", **STRANGER).json["volumes"])
        asked = things.call("GET", f"/limits?project_id={PROJECT_A}", **STRANGER).json["limits"]["absolute"]
        assert asked["totalVolumesUsed"] == summary["total_count"]
