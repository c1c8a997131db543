"""The block API in process: the real WSGI application on an SQLite file, callers named by a header."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import falcon.testing
import pytest
from oslo_config import cfg

from pumice.block.admin import binaries
from pumice.block.quotas.resources import quotas_of
from pumice.block.routes import API
from pumice.block.types.lookup import ensure_default_type
from pumice.kernel import config
from pumice.kernel.api.table import Api
from pumice.kernel.db import migrations
from pumice.kernel.db.engine import Database
from pumice.kernel.service import Service
from tests.support.databases import url_of
from tests.support.identity import PEOPLE, Identity

NOTIFYING = "[oslo_messaging_notifications]\ndriver = log\n"


class BlockApi:
    """A service, its client, and a few words for tests.

    Notifications stay in their outbox, because nothing delivers them here.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self.db = service.db
        app = service.wsgi(lambda inner: Identity(inner, service.policy))
        self._client = falcon.testing.TestClient(app)  # type: ignore[arg-type]

    def call(
        self, method: str, path: str, body: Any = None, *, who: str = "admin", version: str = "3.71", **more: Any
    ) -> falcon.testing.Result:
        """A request below /v3/<project of the caller>; `body` is JSON-able."""
        url, _, query = path.partition("?")
        headers = {"X-Test-Identity": who, "OpenStack-API-Version": f"volume {version}"}
        if body is not None:
            more["json"] = body
        return self._client.simulate_request(
            method, f"/v3/{PEOPLE[who].project_id}{url}", query_string=query, headers=headers, **more
        )

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

    def add(self, *rows: Any) -> None:
        self.db.write(lambda tx: tx.add_all(rows))


class _Served(Service):
    """A service of its own rows."""

    api_binary, part = binaries.API, "volume"

    def __init__(self, conf: cfg.ConfigOpts, api: Api) -> None:
        super().__init__("block", conf, [], quotas_of(conf))
        self._api = api

    def api(self) -> Api:
        return self._api


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file with the newest schema, to be copied."""
    file = tmp_path_factory.mktemp("schema") / "block.sqlite"
    _upgrade(f"sqlite:///{file}")
    return file


def _upgrade(url: str) -> None:
    db = Database(url)
    migrations.upgrade(db, "block")
    db.close()


MakeApi = Callable[..., BlockApi]


@pytest.fixture
def make_api(tmp_path: Path, empty_database: Path) -> Iterator[MakeApi]:
    """`make_api(*resources, sections=…, **options)`: a service of these; options are of [DEFAULT]."""
    services: list[Service] = []

    def make(
        *resources: Any,
        sections: Mapping[str, Mapping[str, Any]] | None = None,
        **options: Any,
    ) -> BlockApi:
        directory = tmp_path / str(len(services))
        directory.mkdir()
        url = url_of(directory / "block.sqlite")
        if url.startswith("sqlite"):
            shutil.copy(empty_database, directory / "block.sqlite")
        else:
            _upgrade(url)
        file = directory / "pumice.conf"
        file.write_text(NOTIFYING)
        general = {"state_path": str(directory), "host": "here", **options}
        given = {"DEFAULT": general, "database": {"connection": url}, **(sections or {})}
        conf = config.load("block", [file], given)
        service = _Served(conf, replace(API, resources=resources))
        services.append(service)
        service.db.write(ensure_default_type)
        return BlockApi(service)

    yield make
    for service in services:
        service.stop()
