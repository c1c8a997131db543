"""Where contract tests run: a service in this process, or any endpoint with a real Keystone beside it."""

from __future__ import annotations

import json
import secrets
import time
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import openstack
import requests
from falcon.testing import TestClient
from openstack.connection import Connection
from sqlalchemy import select

from pumice.kernel.operations.model import LIVE, Operation
from tests.contract.scenarios import PATIENCE, Answer, Api, File
from tests.support.blockservice import Block
from tests.support.identity import HEADER, PEOPLE, PROJECT_A, PROJECT_ADMIN, PROJECT_B
from tests.support.shareservice import CAPABLE, Shares

UNLIMITED = {
    "block": {"volumes": -1, "snapshots": -1, "gigabytes": -1},
    "share": {"shares": -1, "snapshots": -1, "gigabytes": -1, "snapshot_gigabytes": -1},
}
# name -> (project, roles); "admin" is the user of the cloud that was named.
REMOTE = {
    "admin_a": ("contract-a", ["admin"]),
    "member_a": ("contract-a", ["member"]),
    "member2_a": ("contract-a", ["member"]),
    "reader_a": ("contract-a", ["reader"]),
    "member_b": ("contract-b", ["member"]),
    "reader_b": ("contract-b", ["reader"]),
    "service": ("contract-service", ["service", "admin"]),
}


def _answer(status: int, headers: Mapping[str, str], text: str) -> Answer:
    lowered = {name.lower(): value for name, value in headers.items()}
    is_json = "json" in lowered.get("content-type", "") and text
    return Answer(status, lowered, json.loads(text) if is_json else None, text)


def _path(api: Api, path: str, who: str, projects: Mapping[str, str]) -> str:
    """A path as scenarios have it, with its query quoted: /volumes is below the caller's project; `//v3/…` is whole."""
    url, mark, query = path.partition("?")
    below = url[1:] if url.startswith("//") else f"{api.base}/{projects[who]}{url}"
    return below + mark + urllib.parse.quote(query, safe="=&%+")


def _running(directory: Path, file: File) -> Block | Shares:
    unlimited = UNLIMITED[file.api.name]
    if file.api.name == "share":
        return Shares(directory, file.backends, {"quota": unlimited}, **file.options)
    return Block(directory, file.backends, **{f"quota_{name}": -1 for name in unlimited} | file.options)


class InProcess:
    """The service with the simulated backend; a file may bring options and backends of its own."""

    def __init__(self, directory: Path, file: File) -> None:
        self.running = _running(directory, file)
        self.names = {
            "capable": "default",
            "project_a": PROJECT_A,
            "project_b": PROJECT_B,
            "project_admin": PROJECT_ADMIN,
            **{name: person.user_id or "" for name, person in PEOPLE.items()},
        }
        self._projects = {name: person.project_id or "" for name, person in PEOPLE.items()} | {"nobody": PROJECT_A}
        self._api = file.api
        self._client: TestClient = self.running.client

    def send(
        self, method: str, path: str, *, who: str, headers: dict[str, str], body: Any = None, raw: str | None = None
    ) -> Answer:
        url, _, query = _path(self._api, path, who, self._projects).partition("?")
        given = {"body": raw} if raw is not None else {"json": body} if body is not None else {}
        result = self._client.simulate_request(
            method, url, query_string=query, headers={**headers, HEADER: who}, **given
        )
        return _answer(result.status_code, result.headers, result.text)

    def dial(self, call: str, fault: dict[str, Any]) -> None:
        self.running.driver.dial(call, **fault)

    def undial(self) -> None:
        self.running.driver.undial()

    def backend(self, call: str, values: dict[str, Any]) -> None:
        getattr(self.running.driver, call)(**values)

    def settle(self) -> None:
        """Wait until every operation has ended."""
        end = time.monotonic() + PATIENCE
        while self._live() and time.monotonic() < end:
            time.sleep(0.01)

    def _live(self) -> bool:
        with self.running.service.db.read() as tx:
            return tx.scalars(select(Operation.id).where(Operation.state.in_(LIVE)).limit(1)).first() is not None


class Remote:
    """An endpoint, asked with tokens of people who are made for the run and removed with it (`close`).

    :param cloud: an entry of clouds.yaml whose user is an administrator of the identity service
    :param endpoint: of the service, with or without a path; by default the catalog's
    """

    def __init__(self, api: Api, cloud: str, endpoint: str | None) -> None:
        self._api = api
        self._admin = openstack.connect(cloud=cloud)
        self._made: list[tuple[str, str]] = []
        self._people = {"admin": self._admin}
        self._service_token: str | None = None
        self._types: list[str] = []
        self.names: dict[str, str] = {}
        try:
            self._make_people()
        except Exception:
            self.close()
            raise
        whole = endpoint or self._of_catalog() or ""
        self._root = whole.partition(api.base)[0]
        quotas = "/os-quota-sets" if api.name == "block" else "/quota-sets"
        for project in ("project_a", "project_b"):
            self._as_admin("PUT", f"{quotas}/{self.names[project]}", {"quota_set": UNLIMITED[api.name]})
        if api.name == "share":
            body = {"share_type": {"name": f"capable-{secrets.token_hex(4)}", "extra_specs": CAPABLE}}
            self.names["capable"] = self._as_admin("POST", "/types", body).body["share_type"]["id"]

    def _of_catalog(self) -> str | None:
        proxy = self._admin.block_storage if self._api.name == "block" else self._admin.shared_file_system
        found: str | None = proxy.get_endpoint()
        return found

    def _make_people(self) -> None:
        identity, mark = self._admin.identity, secrets.token_hex(4)
        projects: dict[str, str] = {}
        for name, (project, roles) in REMOTE.items():
            if project not in projects:
                projects[project] = identity.create_project(name=f"{project}-{mark}").id
                self._made.append(("project", projects[project]))
            password = secrets.token_urlsafe(16)
            user = identity.create_user(name=f"{name}-{mark}", password=password, default_project_id=projects[project])
            self._made.append(("user", user.id))
            for role in roles:
                identity.assign_project_role_to_user(projects[project], user.id, identity.find_role(role).id)
            self._people[name] = self._admin.connect_as(
                username=user.name, password=password, project_id=projects[project], project_name=None
            )
            self.names[name] = user.id
        self.names |= {
            "admin": self._admin.current_user_id,
            "project_a": projects["contract-a"],
            "project_b": projects["contract-b"],
            "project_admin": self._admin.current_project_id,
        }
        self._service_token = self._people["service"].auth_token

    def send(
        self, method: str, path: str, *, who: str, headers: dict[str, str], body: Any = None, raw: str | None = None
    ) -> Answer:
        name = "member_a" if who in {"nobody", "member_a_via_service"} else who
        person: Connection = self._people[name]
        sent = dict(headers)
        if who != "nobody":
            sent["X-Auth-Token"] = person.auth_token
        if who == "member_a_via_service":
            sent["X-Service-Token"] = self._service_token or ""
        if raw is not None:
            sent.setdefault("Content-Type", "application/json")
        url = self._root + _path(self._api, path, name, {name: person.current_project_id})
        answer = requests.request(method, url, json=body, data=raw, headers=sent, timeout=60)
        if (method, path, answer.status_code) == ("POST", "/types", 200):
            self._types.append(answer.json()["volume_type"]["id"])
        return _answer(answer.status_code, answer.headers, answer.text)

    def dial(self, call: str, fault: dict[str, Any]) -> None:
        raise AssertionError(f"{call} of a backend elsewhere cannot be made to fail")

    def undial(self) -> None:
        pass

    def backend(self, call: str, values: dict[str, Any]) -> None:
        raise AssertionError(f"{call} cannot be done to a backend elsewhere")

    def close(self) -> None:
        """Remove what scenarios have left: volumes or shares, snapshots and types; then the people and projects."""
        if "project_a" in self.names:
            for project in (self.names["project_a"], self.names["project_b"]):
                query = f"all_tenants=1&project_id={project}"
                self._remove_volumes(query) if self._api.name == "block" else self._remove_shares(query)
            for type_id in self._types:
                self._as_admin("DELETE", f"/types/{type_id}")
        for kind, id in reversed(self._made):
            getattr(self._admin.identity, f"delete_{kind}")(id)

    def _remove_volumes(self, query: str) -> None:
        rest: dict[str, Any] = {"status": "available"}
        for one in self._as_admin("GET", f"/snapshots?{query}").body["snapshots"]:
            self._as_admin("POST", f"/snapshots/{one['id']}/action", {"os-reset_status": rest})
        rest |= {"attach_status": "detached", "migration_status": "none"}
        for one in self._as_admin("GET", f"/volumes?{query}").body["volumes"]:
            self._as_admin("POST", f"/volumes/{one['id']}/action", {"os-reset_status": rest})
            self._as_admin("DELETE", f"/volumes/{one['id']}?cascade=true")
        self._until_gone("volumes", query)

    def _remove_shares(self, query: str) -> None:
        for transfer in self._as_admin("GET", f"/share-transfers?{query}").body["transfers"]:
            self._as_admin("DELETE", f"/share-transfers/{transfer['id']}")
        for lock in self._as_admin("GET", f"/resource-locks?all_projects=1&{query}").body["resource_locks"]:
            self._as_admin("DELETE", f"/resource-locks/{lock['id']}")
        for recycled in ("false", "true"):
            for kind in ("snapshots", "shares"):
                which = f"{query}&is_soft_deleted={recycled}" if kind == "shares" else query
                for one in self._as_admin("GET", f"/{kind}?{which}").body[kind]:
                    self._as_admin("POST", f"/{kind}/{one['id']}/action", {"force_delete": None})
                self._until_gone(kind, which)

    def _until_gone(self, kind: str, query: str) -> None:
        end = time.monotonic() + PATIENCE
        while self._as_admin("GET", f"/{kind}?{query}").body[kind] and time.monotonic() < end:
            time.sleep(0.2)

    def _as_admin(self, method: str, path: str, body: Any = None) -> Answer:
        # Volumes' clean-up is in the words of the first version, shares' in those of the newest.
        version = "3.0" if self._api.name == "block" else self._api.newest
        return self.send(method, path, who="admin", headers=self._api.asking(version), body=body)
