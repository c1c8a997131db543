from __future__ import annotations

import datetime
from typing import Any

import pytest

from pumice.block.admin import routes
from pumice.block.types import routes as type_routes
from pumice.kernel.db.base import utcnow
from pumice.kernel.services import Cluster, WorkerService
from tests.block.conftest import BlockApi, MakeApi

HOST = "here@file"


@pytest.fixture
def api(make_api: MakeApi) -> BlockApi:
    return make_api(routes, type_routes)


def worker(host: str = HOST, binary: str = "cinder-volume", *, age: float = 0, **more: Any) -> WorkerService:
    """A worker that reported `age` seconds ago."""
    seen = utcnow() - datetime.timedelta(seconds=age)
    values = {"topic": binary, "availability_zone": "nova", "last_seen": seen, **more}
    return WorkerService(host=host, binary=binary, **values)


def cluster(name: str, binary: str = "cinder-volume", **more: Any) -> Cluster:
    return Cluster(name=name, binary=binary, **more)
