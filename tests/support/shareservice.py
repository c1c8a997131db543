"""The Shared File Systems service in this process, on SQLite and simulated backends, called through its WSGI
application."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from falcon.testing import Result, TestClient

from pumice.kernel import config
from pumice.kernel.api.versions import Version
from pumice.kernel.db import migrations, schema
from pumice.kernel.db.base import new_id
from pumice.kernel.db.engine import Database
from pumice.share import invariants
from pumice.share.drivers.simulated import SimulatedShareDriver
from pumice.share.service import ShareService
from pumice.share.shares.moves import TRANSITIONAL
from pumice.share.types.model import ShareType
from tests.support.databases import url_of
from tests.support.identity import HEADER, PEOPLE, Identity
from tests.support.waiting import LONG

LATEST = "2.99"
MOVING = (*TRANSITIONAL, "queued_to_apply", "applying", "queued_to_deny", "denying", "queued_to_update", "updating")
CAPABLE = {
    "driver_handles_share_servers": "False",
    "snapshot_support": "True",
    "create_share_from_snapshot_support": "True",
    "revert_to_snapshot_support": "True",
    "mount_snapshot_support": "True",
}
"""Extra specs of the type `default` that the service begins with."""


class Shares:
    """:param options: of [DEFAULT]; `backends` are sections, each of them enabled"""

    def __init__(
        self,
        directory: Path,
        backends: Mapping[str, Mapping[str, Any]] | None = None,
        sections: Mapping[str, Mapping[str, Any]] | None = None,
        **options: Any,
    ) -> None:
        backends = backends or {"sim": {"share_driver": "simulated"}}
        general = {
            "host": "here",
            "state_path": str(directory),
            "enabled_share_backends": list(backends),
            "default_share_type": "default",
            "report_interval": 1,
        }
        overrides = {
            "DEFAULT": general | options,
            "database": {"connection": url_of(directory / "share.sqlite")},
            "coordination": {"backend_url": f"file://{directory}/locks"},
            "operations": {"sweep_interval": 0.5, "threads": 8},
            **backends,
            **(sections or {}),
        }
        self.conf = config.load("share", (), overrides)
        db = Database(self.conf.database.connection)
        fresh = schema.current(db) is None
        migrations.upgrade(db, "share")
        db.close()
        self.service = ShareService(self.conf)
        if fresh:
            self.type("default", CAPABLE)
        self.client = TestClient(self.service.wsgi(lambda app: Identity(app, self.service.policy)))

    def __enter__(self) -> Self:
        self.service.start()
        return self

    def __exit__(self, *_: object) -> None:
        for driver in self.drivers():
            driver.release()
        self.service.stop(grace=5)

    def type(self, name: str, specs: Mapping[str, str], **values: Any) -> str:
        """A share type, made without the API; its id."""
        id = new_id()
        self.service.db.write(lambda tx: tx.add(ShareType(id=id, name=name, extra_specs=dict(specs), **values)))
        return id

    def drivers(self) -> list[SimulatedShareDriver]:
        return [one.driver for one in self.service.backends if isinstance(one.driver, SimulatedShareDriver)]

    @property
    def driver(self) -> SimulatedShareDriver:
        return self.drivers()[0]

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        who: str = "member_a",
        version: str = LATEST,
        experimental: bool = False,
        key: str | None = None,
    ) -> Result:
        """:param key: an Idempotency-Key"""
        headers = {HEADER: who, "X-OpenStack-Manila-API-Version": version}
        if key:
            headers["Idempotency-Key"] = key
        if experimental:
            headers["X-OpenStack-Manila-API-Experimental"] = "True"
        given = {} if body is None else {"json": body}
        if Version.parse(version) < "2.60":
            path = f"/{PEOPLE[who].project_id}{path}"
        return self.client.simulate_request(method, f"/v2{path}", headers=headers, **given)

    def ok(self, method: str, path: str, body: Any = None, *, status: int = 200, **more: Any) -> Any:
        """The answer's body, of a request that must have this status."""
        answer = self.call(method, path, body, **more)
        assert answer.status_code == status, answer.text
        return answer.json if answer.content else None

    def refused(self, status: int, method: str, path: str, body: Any = None, **more: Any) -> str:
        """The message of a request that must be refused with this status."""
        answer = self.call(method, path, body, **more)
        assert answer.status_code == status, answer.text
        ((_, fault),) = answer.json.items()
        assert fault["code"] == status
        return str(fault["message"])

    def act(self, share: str, action: str, value: Any = None, *, status: int = 202, **more: Any) -> Any:
        """An action of a share."""
        return self.ok("POST", f"/shares/{share}/action", {action: value}, status=status, **more)

    def rest(self, path: str, *, seconds: float = LONG, who: str = "admin_a", key: str = "status") -> str:
        """The status (or what `key` says) in which a thing comes to rest; "gone" when it is no more."""
        end = time.monotonic() + seconds
        while True:
            answer = self.call("GET", path, who=who)
            if answer.status_code == 404:
                return "gone"
            (thing,) = answer.json.values()
            status: str = thing[key]
            if status not in MOVING:
                return status
            assert time.monotonic() < end, f"{path} is still {status}"
            time.sleep(0.02)

    def share(self, *, who: str = "member_a", **values: Any) -> str:
        """A new share that is available; its id."""
        answer = self.call("POST", "/shares", {"share": {"share_proto": "NFS", "size": 1, **values}}, who=who)
        assert answer.status_code == 200, answer.text
        id: str = answer.json["share"]["id"]
        assert self.rest(f"/shares/{id}") == "available"
        return id

    def snapshot(self, share: str) -> str:
        """A new snapshot that is available; its id."""
        id: str = self.ok("POST", "/snapshots", {"snapshot": {"share_id": share}}, status=202)["snapshot"]["id"]
        assert self.rest(f"/snapshots/{id}") == "available"
        return id

    def wrong(self) -> list[str]:
        """What does not hold of the rows; empty at any moment."""
        with self.service.db.read() as tx:
            return invariants.check(tx)

    def all_wrong(self) -> list[str]:
        """What does not hold of rows and backends; empty when nothing is under way."""
        with self.service.db.read() as tx:
            found = invariants.check(tx) + invariants.stuck(tx)
            for backend in self.service.backends:
                found += invariants.compare(tx, backend.name, backend.driver.inventory())
        return found
