"""What holds for every row of the block API's table: versions, strangers, readers, null and wrong values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from falcon.testing import Result
from sqlalchemy import select

from pumice.block.routes import API, DIALECT
from pumice.kernel.api.routes import READER, Route
from pumice.kernel.api.versions import Version
from tests.support import sweeps
from tests.support.blockservice import Block
from tests.support.identity import HEADER, PEOPLE, PROJECT_A, PROJECT_B
from tests.support.migrations import tables_of

NEWEST = DIALECT.maximum
VERSIONS = (DIALECT.minimum, NEWEST)
STRANGER: dict[str, Any] = {"who": "member_b", "project": PROJECT_B}
ADMIN: dict[str, Any] = {"who": "admin_a"}


def bodies(ids: Mapping[str, str]) -> dict[str, Any]:
    """Bodies that are taken, of routes for which the smallest ones that their shapes tell are not."""
    volume = {"size": 1, "name": "n", "description": "d", "metadata": {"a": "b"}, "volume_type": "__DEFAULT__"}
    connector = {"host": "h", "ip": "127.0.0.1", "initiator": "iqn.2026-11.org.example:h", "multipath": False}
    free = ids["volumes"]
    return {
        "POST /volumes": {"volume": {**volume, "availability_zone": "nova", "multiattach": False, "group_id": None}},
        "POST /snapshots": {"snapshot": {"volume_id": free, "name": "n", "description": "d", "metadata": {"a": "b"}}},
        "POST /attachments": {"attachment": {"volume_uuid": free, "instance_uuid": free, "connector": connector}},
        "PUT /attachments/{id}": {"attachment": {"connector": connector}},
        "POST /volumes/{id}/action os-attach": {"mountpoint": "/dev/vdb", "host_name": "h", "mode": "rw"},
        "POST /volumes/{id}/action os-initialize_connection": {"connector": connector},
        "POST /volumes/{id}/action os-terminate_connection": {"connector": connector},
        "POST /volumes/{id}/action os-extend": {"new_size": 9},
        "POST /volumes/{id}/action os-reset_status": {"status": "error", "attach_status": "detached"},
        "POST /volumes/{id}/action os-set_image_metadata": {"metadata": {"a": "b"}},
        "POST /volumes/{id}/action revert": {"snapshot_id": ids["snapshots"]},
        "POST /types": {"volume_type": {"name": "t", "description": "d", "extra_specs": {"a": "b"}}},
        "POST /types/{type_id}/extra_specs": {"extra_specs": {"a": "b"}},
        "PUT /os-quota-sets/{id}": {"quota_set": {"volumes": -1, "gigabytes": "-1"}},
        "PUT /os-quota-class-sets/{name}": {"quota_class_set": {"volumes": -1}},
    }


class Things:
    """A service, and one of each thing that a project can have; they are all of project A."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self._ids: dict[str, str] = {"os-quota-sets": PROJECT_A, "default-types": PROJECT_A}

    def call(
        self,
        method: str,
        path: str,
        *,
        version: str = str(NEWEST),
        who: str = "member_a",
        project: str | None = PROJECT_A,
        body: Any = None,
    ) -> Result:
        url, _, query = path.partition("?")
        headers = {HEADER: who, "OpenStack-API-Version": f"volume {version}"}
        given = {} if body is None else {"json": body}
        where = f"/v3/{project}{url}" if project else f"/v3{url}"
        return self.block.client.simulate_request(method, where, query_string=query, headers=headers, **given)

    def ids(self) -> Mapping[str, str]:
        """First part of a path -> id; what is gone is made again, and what was changed rests again."""
        self._volume()
        self._keep("snapshots", self._snapshot, {"os-reset_status": {"status": "available"}})
        self._keep("attachments", self._attachment)
        self._keep("types", self._type)
        self._keep("messages", self._message)
        return self._ids

    def _volume(self) -> None:
        self._keep("volumes", self._available)
        path = f"/volumes/{self._ids['volumes']}"
        if self.call("GET", path, who="admin_a").json["volume"]["status"] != "available":
            reset = {"os-reset_status": {"status": "available", "attach_status": "detached", "migration_status": None}}
            self.call("POST", f"{path}/action", who="admin_a", body=reset)

    def _keep(self, kind: str, make: Any, reset: Any = None) -> None:
        found = self._ids.get(kind)
        answer = self.call("GET", f"/{kind}/{found}", who="admin_a") if found else None
        if answer is None or answer.status_code == 404:
            self._ids[kind] = make()
        elif reset:
            self.call("POST", f"/{kind}/{found}/action", who="admin_a", body=reset)

    def _available(self) -> str:
        answer = self.call("POST", "/volumes", body={"volume": {"size": 1}})
        self._ids["operations"] = answer.headers["X-Operation-Id"]
        id: str = answer.json["volume"]["id"]
        assert self.block.rest(f"/volumes/{id}") == "available"
        return id

    def _snapshot(self) -> str:
        answer = self.call("POST", "/snapshots", body={"snapshot": {"volume_id": self._ids["volumes"]}})
        id: str = answer.json["snapshot"]["id"]
        assert self.block.rest(f"/snapshots/{id}") == "available"
        return id

    def _attachment(self) -> str:
        body = {"attachment": {"volume_uuid": self._available()}}
        id: str = self.call("POST", "/attachments", body=body).json["attachment"]["id"]
        return id

    def _type(self) -> str:
        body = {"volume_type": {"name": "of a", "os-volume-type-access:is_public": False}}
        id: str = self.call("POST", "/types", who="admin_a", body=body).json["volume_type"]["id"]
        access = {"addProjectAccess": {"project": PROJECT_A}}
        assert self.call("POST", f"/types/{id}/action", who="admin_a", body=access).status_code == 202
        return id

    def _message(self) -> str:
        volume = self.call("POST", "/volumes", body={"volume": {"size": 2**30}}).json["volume"]["id"]
        assert self.block.rest(f"/volumes/{volume}") == "error"
        (message,) = self.call("GET", f"/messages?resource_uuid={volume}").json["messages"]
        id: str = message["id"]
        return id

    def rows(self) -> dict[str, list[Any]]:
        """All that the database has of project A."""
        owned = {table.name: table for table in tables_of("block") if "project_id" in table.c}
        with self.block.service.db.read() as tx:
            return {
                name: sorted(map(repr, tx.execute(select(table).where(table.c.project_id == PROJECT_A))))
                for name, table in owned.items()
            }


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Things]:
    unlimited = {f"quota_{resource}": -1 for resource in ("volumes", "gigabytes", "snapshots")}
    with Block(tmp_path_factory.mktemp("sweeps"), **unlimited) as block:
        made = Things(block)
        made.ids()
        yield made
        made.ids()
        assert block.wrong() == []


@pytest.mark.parametrize("who", ["admin_a", "reader_a"])
def test_every_route_at_every_boundary(things: Things, who: str) -> None:
    assert sweeps.every_route_at_every_boundary(things.call, API.table, DIALECT, who=who) == []


def test_without_a_project_in_the_path_routes_exist_from_their_version_on(things: Things) -> None:
    first = Version.parse(DIALECT.project_optional_from)
    for route in API.table:
        path = sweeps.fill(route.path)
        before = things.call(route.method, path, version="3.66", project=None, who="reader_a", body={})
        after = things.call(route.method, path, version=str(first), project=None, who="reader_a", body={})
        assert before.status_code == 404, route
        assert "does not exist at version" in before.text
        exists = any(_same_path(one, route) and first.within(one.since, one.until) for one in API.table)
        assert ("does not exist at version" in after.text) is not exists, route


def _same_path(one: Route, other: Route) -> bool:
    return (one.method, one.path) == (other.method, other.path)


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_every_key_as_null_and_of_the_wrong_kind(things: Things, version: Version) -> None:
    given = bodies(things.ids())
    told = [route for route in API.table if f"{route.method} {route.path} {route.action}".rstrip() in given]
    assert sweeps.every_optional_key_as_null(things.call, told, version, things.ids, bodies=given, **ADMIN) == []
    assert sweeps.every_optional_key_as_null(things.call, API.table, version, things.ids, **ADMIN) == []


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_a_stranger_sees_and_changes_nothing(things: Things, version: Version) -> None:
    ids = things.ids()
    before = things.rows()
    given = bodies(ids)
    assert sweeps.every_route_as_a_stranger(things.call, API.table, version, ids, bodies=given, **STRANGER) == []
    assert things.rows() == before


def test_a_stranger_is_refused_the_project_in_the_path(things: Things) -> None:
    ids = things.ids()
    before = things.rows()
    for route in API.table:
        path = sweeps.fill(route.path, ids.get(route.path.split("/")[1], sweeps.NOBODYS_ID))
        answer = things.call(route.method, path, who="member_b", body=sweeps.body_of(route, NEWEST, bodies(ids)))
        assert answer.status_code == 400, (route, answer.text)
    assert things.rows() == before


def test_a_stranger_uses_no_id_in_a_body(things: Things) -> None:
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


def test_a_stranger_finds_nothing_by_filters_and_markers(things: Things) -> None:
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


def _reads(route: Route) -> bool:
    """Whether readers may use the route: its rules pass for them."""
    names = (route.policy,) if isinstance(route.policy, str) else route.policy
    return route.method == "GET" or all(name in _READERS for name in names)


_READERS = {route.policy for route in API.table if route.check == READER}


def _asked(things: Things, route: Route, ids: Mapping[str, str], who: str) -> Result:
    path = sweeps.fill(route.path, ids.get(route.path.split("/")[1], sweeps.NOBODYS_ID))
    return things.call(route.method, path, who=who, body=sweeps.body_of(route, NEWEST, bodies(ids)))


def test_a_reader_writes_nothing(things: Things) -> None:
    ids = things.ids()
    before = things.rows()
    for route in API.table:
        if not _reads(route):
            answer = _asked(things, route, ids, "reader_a")
            assert answer.status_code in {400, 403}, (route, answer.text)
    assert things.rows() == before


def test_who_has_no_role_may_nothing(things: Things) -> None:
    """Routes without a rule are for everybody who has a token at all."""
    ids = things.ids()
    before = things.rows()
    for route in API.table:
        answer = _asked(things, route, ids, "no_roles_a")
        if route.policy:
            assert answer.status_code in {400, 403}, (route, answer.text)
        else:
            assert route.method == "GET", route
    assert things.rows() == before


def test_without_a_token_nothing_answers(things: Things) -> None:
    for route in API.table:
        assert things.call(route.method, sweeps.fill(route.path), who="nobody").status_code == 401


@pytest.mark.parametrize("who", ["system_admin", "unscoped"])
def test_a_token_without_a_project(things: Things, who: str) -> None:
    """It is answered like any other, and never with a fault; with a project in the path it is refused."""
    ids = things.ids()
    before = things.rows()
    for route in API.table:
        if route.method != "GET" and who == "system_admin" and "{" in route.path:
            continue  # an administrator may change what is A's
        value = ids.get(route.path.split("/")[1], sweeps.NOBODYS_ID)
        path, body = sweeps.fill(route.path, value), sweeps.body_of(route, NEWEST, bodies(ids))
        assert things.call(route.method, path, who=who, body=body).status_code == 400, route
        answer = things.call(route.method, path, who=who, project=None, body=body)
        assert answer.status_code < 500, (route, answer.text)
        if who == "unscoped":
            told = [one for one in ids.values() if answer.status_code < 300 and one in answer.text]
            assert not told, (route, answer.text)
    assert things.rows() == before


def test_the_people_of_the_sweeps_are_who_they_are_meant_to_be() -> None:
    assert PEOPLE["member_b"].project_id == PROJECT_B
    assert PEOPLE["unscoped"].project_id is None
    assert PEOPLE["no_roles_a"].roles == frozenset()
