"""The Block Storage service in this process, on SQLite and simulated backends, called through its WSGI application."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from falcon.testing import Result, TestClient

from pumice.block import invariants
from pumice.block.drivers.simulated import SimulatedDriver
from pumice.block.service import BlockService
from pumice.kernel import config
from pumice.kernel.db import migrations
from pumice.kernel.db.engine import Database
from tests.support.databases import url_of
from tests.support.identity import HEADER, Identity
from tests.support.waiting import LONG

LATEST = "3.71"
MOVING = ("creating", "deleting", "extending", "reverting", "restoring", "attaching-now")


class Block:
    """:param options: of [DEFAULT]; `backends` are sections, each of them enabled"""

    def __init__(
        self,
        directory: Path,
        backends: Mapping[str, Mapping[str, Any]] | None = None,
        sections: Mapping[str, Mapping[str, Any]] | None = None,
        **options: Any,
    ) -> None:
        backends = backends or {"sim": {"volume_driver": "simulated"}}
        general = {
            "host": "here",
            "state_path": str(directory),
            "enabled_backends": list(backends),
            "report_interval": 1,
        }
        overrides = {
            "DEFAULT": general | options,
            "database": {"connection": url_of(directory / "block.sqlite")},
            "coordination": {"backend_url": f"file://{directory}/locks"},
            "operations": {"sweep_interval": 0.5, "threads": 8},
            **backends,
            **(sections or {}),
        }
        self.conf = config.load("block", (), overrides)
        db = Database(self.conf.database.connection)
        migrations.upgrade(db, "block")
        db.close()
        self.service = BlockService(self.conf)
        self.client = TestClient(self.service.wsgi(lambda app: Identity(app, self.service.policy)))

    def __enter__(self) -> Self:
        self.service.start()
        return self

    def __exit__(self, *_: object) -> None:
        for driver in self.drivers():
            driver.release()
        self.service.stop(grace=5)

    def drivers(self) -> list[SimulatedDriver]:
        return [one.driver for one in self.service.backends if isinstance(one.driver, SimulatedDriver)]

    @property
    def driver(self) -> SimulatedDriver:
        return self.drivers()[0]

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        who: str = "member_a",
        version: str = LATEST,
        key: str | None = None,
    ) -> Result:
        """:param key: an Idempotency-Key"""
        headers = {HEADER: who, "OpenStack-API-Version": f"volume {version}"}
        if key:
            headers["Idempotency-Key"] = key
        given = {} if body is None else {"json": body}
        return self.client.simulate_request(method, f"/v3{path}", headers=headers, **given)

    def rest(self, path: str, *, seconds: float = LONG, who: str = "admin_a") -> str:
        """The status in which a thing comes to rest; "gone" when it is no more."""
        end = time.monotonic() + seconds
        while True:
            answer = self.call("GET", path, who=who)
            if answer.status_code == 404:
                return "gone"
            (thing,) = answer.json.values()
            status: str = thing["status"]
            if status not in MOVING:
                return status
            assert time.monotonic() < end, f"{path} is still {status}"
            time.sleep(0.02)

    def volume(self, *, who: str = "member_a", **values: Any) -> str:
        """A new volume that is available; its id."""
        answer = self.call("POST", "/volumes", {"volume": {"size": 1, **values}}, who=who)
        assert answer.status_code == 202, answer.text
        id: str = answer.json["volume"]["id"]
        assert self.rest(f"/volumes/{id}") == "available"
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
