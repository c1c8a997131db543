from __future__ import annotations

import datetime
from queue import SimpleQueue
from typing import Any

import pytest

from pumice.block.backends import queue_of
from pumice.kernel.db.base import new_id, utcnow
from pumice.kernel.operations.journal import doorbell
from pumice.kernel.operations.model import Operation
from tests.block.admin.conftest import HOST, cluster, worker
from tests.block.conftest import BlockApi
from tests.support.identity import PROJECT_A
from tests.support.waiting import LONG


def operation(queue: str, resource_id: str, resource_type: str = "VOLUME") -> Operation:
    return Operation(
        id=new_id(),
        kind="volume.create",
        queue=queue,
        resource_type=resource_type,
        resource_id=resource_id,
        project_id=PROJECT_A,
        deadline=utcnow() + datetime.timedelta(hours=1),
    )


def hosts(answer: Any) -> tuple[list[str], list[str]]:
    return tuple([one["host"] for one in answer[key]] for key in ("cleaning", "unavailable"))  # type: ignore[return-value]


def clean(api: BlockApi, **body: Any) -> tuple[list[str], list[str]]:
    return hosts(api.ok("POST", "/workers/cleanup", body, status=202, version="3.24"))


def test_who_is_told_and_who_cannot_be_reached(api: BlockApi) -> None:
    api.add(worker("here", "cinder-scheduler"), worker(), worker("gone@file", age=100), worker("here", "cinder-backup"))
    api.add(cluster("c@file"), worker("a@file", cluster="c@file"), worker("b@file", cluster="c@file", age=100))
    answer = api.ok("POST", "/workers/cleanup", {}, status=202)
    assert hosts(answer) == (["here", HOST, "a@file", "b@file"], ["gone@file"])
    assert set(answer["cleaning"][0]) == {"id", "host", "binary", "cluster_name"}
    assert clean(api, binary="cinder-scheduler") == (["here"], [])
    assert clean(api, host=HOST) == ([HOST], [])
    assert clean(api, is_up=False) == (["b@file"], ["gone@file"])
    assert clean(api, cluster_name="c@file") == (["a@file", "b@file"], [])
    assert clean(api, service_id=str(answer["unavailable"][0]["id"])) == ([], ["gone@file"])
    assert clean(api, disabled=True) == ([], [])


def test_doorbells_of_waiting_work_are_rung(api: BlockApi) -> None:
    wanted, other = new_id(), new_id()
    rows = [operation(queue_of(HOST), wanted), operation(queue_of(HOST), other, "VOLUME_SNAPSHOT")]
    ids = [row.id for row in rows]
    api.add(worker(), *rows, operation(queue_of("else@file"), wanted))
    heard: SimpleQueue[str] = SimpleQueue()
    api.service.bus.listen(doorbell(queue_of(HOST)), heard.put)
    clean(api, resource_id=wanted, resource_type="Volume")
    assert heard.get(timeout=LONG) == ids[0]
    clean(api, resource_type="Snapshot")
    assert heard.get(timeout=LONG) == ids[1]
    clean(api)
    assert sorted([heard.get(timeout=LONG), heard.get(timeout=LONG)]) == sorted(ids)


@pytest.mark.parametrize(
    "body",
    [
        {"binary": "cinder-api"},
        {"is_up": "perhaps"},
        {"resource_id": "x"},
        {"resource_type": "Backup"},
        {"service_id": "1" * 12},
        {"cats": 1},
    ],
)
def test_bad_bodies(api: BlockApi, body: Any) -> None:
    api.refused(400, "POST", "/workers/cleanup", body)


def test_only_admins_from_3_24_on(api: BlockApi) -> None:
    api.refused(403, "POST", "/workers/cleanup", {}, who="member_a")
    api.refused(404, "POST", "/workers/cleanup", {}, version="3.23")
