"""What holds for every row of the share API's table: versions, strangers, readers, null and wrong values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from pumice.share.routes import API, DIALECT
from tests.support.identity import PROJECT_A
from tests.support.shareservice import CAPABLE, Shares
from tests.support.swept import STRANGER, Swept, Things

AVAILABLE = {"reset_status": {"status": "available"}}
WITH_METADATA = ("/shares/{id}", "/snapshots/{id}", "/shares/{share_id}/export_locations/{location_id}")
WITH_STATUS, ERROR = ("shares", "share_instances", "snapshots", "snapshot-instances"), {"status": "error"}
KEY = "a-key-of-ours"
"""Of metadata and extra specs."""


class ShareThings(Things):
    package = "share"
    dialect = DIALECT

    def ids(self) -> Mapping[str, str]:
        self._ids |= {"quota-sets": PROJECT_A, "os-quota-sets": PROJECT_A, "{key}": KEY}
        self._share()
        self.keep("snapshots", self._snapshot, AVAILABLE)
        self.keep("share-access-rules", self._rule)
        self.keep("types", self._type)
        private = {"share_type": {"name": "of a", "share_type_access:is_public": False}}
        self.call("PUT", f"/types/{self._ids['types']}", who="admin_a", body=private)
        self.keep("messages", self._message)
        self.keep("share-transfers", self._transfer)
        self.keep("resource-locks", self._lock)
        return self._ids

    def bodies(self) -> dict[str, Any]:
        share, snapshot, rule = (self._ids[kind] for kind in ("shares", "snapshots", "share-access-rules"))
        named = {"name": "n", "description": "d"}
        new = {"share_proto": "NFS", "size": 1, **named, "share_type": "default", "metadata": {"a": "b"}}
        zone = {"availability_zone": "nova", "is_public": False, "scheduler_hints": {"same_host": share}}
        specs = {"driver_handles_share_servers": "false", "snapshot_support": "true", "a": "b"}
        number, address = self.number(), self._address()
        allow = {"access_type": "ip", "access_to": address, "access_level": "rw"}
        foreign = {"export_path": f"127.0.0.1:/none{number}", "service_host": "here@sim#sim", "protocol": "NFS"}
        level = {"update_access": {"access_level": "ro"}}
        host, quotas = {"host": "here@sim"}, {"quota_set": {"shares": -1, "gigabytes": "-1", "force": False}}
        actions = {
            "allow_access": {**allow, "metadata": {"a": "b"}, "lock_deletion": True, "lock_reason": "r"},
            "os-allow_access": allow,
            "deny_access": {"access_id": rule, "unrestrict": True},
            "os-deny_access": {"access_id": rule},
            "extend": {"new_size": 9, "force": True},
            "os-extend": {"new_size": 9},
            "revert": {"snapshot_id": snapshot},
            "reset_task_state": {"task_state": "migration_error"},
        }
        return {
            "POST /shares": {"share": {**new, **zone}},
            "POST /shares/manage": {
                "share": {**foreign, **named, "share_type": "default", "driver_options": {"a": "b"}}
            },
            "POST /os-share-manage": {"share": {**foreign, **named, "share_type": "default"}},
            **{f"POST /shares/{{id}}/action {action}": body for action, body in actions.items()},
            **{f"POST /{kind}/{{id}}/action {old}reset_status": ERROR for kind in WITH_STATUS for old in ("", "os-")},
            "PUT /share-access-rules/{id}": level,
            "POST /snapshots": {"snapshot": {"share_id": share, **named, "metadata": {"a": "b"}}},
            "POST /snapshots/manage": {"snapshot": {"share_id": share, "provider_location": f"none{number}", **named}},
            "POST /snapshots/{id}/action allow_access": {"access_type": "ip", "access_to": address},
            "POST /share-transfers": {"transfer": {"share_id": share, "name": "n"}},
            "POST /resource-locks": {"resource_lock": {"resource_id": share, "resource_type": "share"}},
            "POST /types": {"share_type": {"name": f"t{number}", "description": "d", "extra_specs": specs}},
            **{f"PUT /{old}quota-sets/{{id}}": quotas for old in ("", "os-")},
            **{f"PUT /{old}quota-class-sets/{{name}}": {"quota_class_set": {"shares": -1}} for old in ("", "os-")},
            "PUT /types/{type_id}/extra_specs/{key}": {KEY: "b"},
            **{f"POST {path}/metadata/{{key}}": {"metadata": {KEY: "b"}} for path in WITH_METADATA},
            "POST /services/ensure-shares": {"ensure_shares": host},
        }

    def _share(self) -> None:
        """A share that was locked, offered or put into the recycle bin comes back."""
        self.keep("shares", self._available)
        path = f"/shares/{self._ids['shares']}"
        share = self.call("GET", path, who="admin_a").json["share"]
        if share["is_soft_deleted"]:
            self.call("POST", f"{path}/action", who="admin_a", body={"restore": None})
        if share["status"] != "available" or share["task_state"]:
            self.running.rest(path)
            self.call("POST", f"{path}/action", who="admin_a", body=AVAILABLE)
            self.call("POST", f"{path}/action", who="admin_a", body={"reset_task_state": {"task_state": None}})

    def _available(self) -> str:
        id = self.made("/shares", {"share": {"share_proto": "NFS", "size": 2}})
        locations = self.call("GET", f"/shares/{id}/export_locations").json["export_locations"]
        instances = self.call("GET", f"/shares/{id}/instances", who="admin_a").json["share_instances"]
        self._ids |= {"{location_id}": locations[0]["id"], "share_instances": instances[0]["id"]}
        self._ids["os-share-unmanage"] = id
        return id

    def _snapshot(self) -> str:
        id = self.made("/snapshots", {"snapshot": {"share_id": self._ids["shares"]}})
        path = f"/snapshots/{id}/export-locations"
        locations = self.call("GET", path).json["share_snapshot_export_locations"]
        found = self.call("GET", f"/snapshot-instances?snapshot_id={id}", who="admin_a").json["snapshot_instances"]
        self._ids |= {"{export_location_id}": locations[0]["id"], "snapshot-instances": found[0]["id"]}
        return id

    def _address(self) -> str:
        number = self.number()
        return f"10.0.{number // 250}.{number % 250}"

    def _rule(self) -> str:
        allow = {"allow_access": {"access_type": "ip", "access_to": self._address(), "metadata": {"a": "b"}}}
        answer = self.call("POST", f"/shares/{self._ids['shares']}/action", body=allow)
        id: str = answer.json["access"]["id"]
        assert self.running.rest(f"/share-access-rules/{id}", key="state") == "active"
        return id

    def _type(self) -> str:
        specs = CAPABLE | {"a": "b"}
        body = {"share_type": {"name": "of a", "share_type_access:is_public": False, "extra_specs": specs}}
        id = self.made("/types", body, who="admin_a")
        access = {"addProjectAccess": {"project": PROJECT_A}}
        assert self.call("POST", f"/types/{id}/action", who="admin_a", body=access).status_code == 202
        return id

    def _message(self) -> str:
        share = self.made("/shares", {"share": {"share_proto": "NFS", "size": 2**30}}, status="error")
        (message,) = self.call("GET", f"/messages?resource_id={share}").json["messages"]
        id: str = message["id"]
        return id

    def _transfer(self) -> str:
        share = self.made("/shares", {"share": {"share_proto": "NFS", "size": 1}})
        answer = self.call("POST", "/share-transfers", body={"transfer": {"share_id": share}})
        id: str = answer.json["transfer"]["id"]
        return id

    def _lock(self) -> str:
        share = self.made("/shares", {"share": {"share_proto": "NFS", "size": 1}})
        return self.made("/resource-locks", {"resource_lock": {"resource_id": share, "resource_type": "share"}})


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShareThings]:
    unlimited = dict.fromkeys(("shares", "gigabytes", "snapshots", "snapshot_gigabytes"), -1)
    with Shares(tmp_path_factory.mktemp("sweeps"), sections={"quota": unlimited}) as shares:
        made = ShareThings(shares)
        made.ids()
        yield made
        made.ids()
        assert shares.wrong() == []


class TestShares(Swept):
    api = API
    for_strangers = frozenset({"POST /share-transfers/{id}/accept"})
    adding = frozenset({"allow_access", "os-allow_access"})
    adds_nothing = frozenset(
        {
            "POST /os-share-unmanage/{id}/unmanage",
            "POST /services/ensure-shares",
            # A share has one offer at most, and the key in the answer is kept nowhere.
            "POST /share-transfers",
            "POST /share-transfers/{id}/accept",
        }
    )

    def test_a_stranger_uses_no_id_in_a_body(self, things: ShareThings) -> None:
        ids = things.ids()
        before = things.rows()
        share, snapshot = ids["shares"], ids["snapshots"]
        new = {"share_proto": "NFS", "size": 2}
        bodies: list[tuple[str, Any, int]] = [
            ("/shares", {"share": {**new, "snapshot_id": snapshot}}, 404),
            ("/shares", {"share": {**new, "share_type": ids["types"]}}, 404),
            ("/shares", {"share": {**new, "share_type": "of a"}}, 404),
            ("/shares", {"share": {**new, "scheduler_hints": {"same_host": share}}}, 404),
            ("/shares", {"share": {**new, "scheduler_hints": {"different_host": share}}}, 404),
            ("/snapshots", {"snapshot": {"share_id": share}}, 404),
            ("/share-transfers", {"transfer": {"share_id": share}}, 404),
            ("/resource-locks", {"resource_lock": {"resource_id": share, "resource_type": "share"}}, 400),
            (
                "/resource-locks",
                {"resource_lock": {"resource_id": ids["share-access-rules"], "resource_type": "access_rule"}},
                400,
            ),
        ]
        for path, body, status in bodies:
            assert things.call("POST", path, body=body, **STRANGER).status_code == status, body
        assert things.call("GET", f"/share-access-rules?share_id={share}", **STRANGER).status_code == 400
        assert things.rows() == before

    def test_a_stranger_finds_nothing_by_filters(self, things: ShareThings) -> None:
        ids = things.ids()
        for kind in ("shares", "snapshots", "messages", "share-transfers", "resource-locks", "operations", "types"):
            for query in ("", "all_tenants=1", "all_projects=1", f"project_id={PROJECT_A}", f"id={ids[kind]}"):
                answer = things.call("GET", f"/{kind}?{query}", **STRANGER)
                assert answer.status_code in {200, 403}, (kind, query, answer.text)
                assert ids[kind] not in answer.text, (kind, query)
        asked = things.call("GET", f"/limits?project_id={PROJECT_A}", **STRANGER).json["limits"]["absolute"]
        assert asked["totalSharesUsed"] == len(things.call("GET", "/shares", **STRANGER).json["shares"])
