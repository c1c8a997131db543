from __future__ import annotations

from typing import Any

import pytest

from pumice.block.snapshots.model import Snapshot
from pumice.block.volumes.model import Volume
from pumice.kernel.db.base import new_id
from tests.block.admin.conftest import HOST, worker
from tests.block.conftest import BlockApi
from tests.support.identity import PROJECT_A, PROJECT_B


def volume(project: str, size: int, host: str | None) -> Volume:
    return Volume(id=new_id(), project_id=project, size=size, status="available", host=host)


def snapshot(of: Volume) -> Snapshot:
    return Snapshot(project_id=of.project_id, volume_id=of.id, size=of.size, status="available", charged_gb=of.size)


def test_enabled_workers_are_hosts(api: BlockApi) -> None:
    api.add(worker("here", "cinder-scheduler"), worker(age=100), worker("off@file", disabled=True))
    api.add(worker("far@file", availability_zone="far"))
    hosts = api.ok("GET", "/os-hosts")["hosts"]
    assert [one["host_name"] for one in hosts] == ["here", HOST, "far@file"]
    assert set(hosts[0]) == {"host_name", "service", "zone", "service-status", "service-state", "last-update"}
    assert [one["service-status"] for one in hosts] == ["available", "unavailable", "available"]
    assert {one["service-state"] for one in hosts} == {"enabled"}
    assert hosts[1]["service"] == "cinder-volume"
    assert [one["host_name"] for one in api.ok("GET", "/os-hosts?zone=far")["hosts"]] == ["far@file"]


def test_what_a_host_holds(api: BlockApi) -> None:
    mine, other = volume(PROJECT_A, 3, f"{HOST}#pool"), volume(PROJECT_B, 5, f"{HOST}#other")
    api.add(worker(), mine, other, volume(PROJECT_A, 1, f"{HOST}#pool"), volume(PROJECT_A, 7, "here@file2#pool"))
    api.add(volume(PROJECT_A, 9, None))
    api.add(snapshot(mine), snapshot(mine), snapshot(other))
    resources = [one["resource"] for one in api.ok("GET", f"/os-hosts/{HOST}")["host"]]
    numbers = ("volume_count", "total_volume_gb", "snapshot_count", "total_snapshot_gb")
    assert [(one["host"], one["project"], *(one[name] for name in numbers)) for one in resources] == [
        (HOST, "(total)", "3", "9", "3", "11"),
        (HOST, PROJECT_A, "2", "4", "2", "6"),
        (HOST, PROJECT_B, "1", "5", "1", "5"),
    ]


def test_an_empty_host_holds_nothing(api: BlockApi) -> None:
    api.add(worker(), worker("here", "cinder-scheduler"))
    (total,) = api.ok("GET", f"/os-hosts/{HOST}")["host"]
    assert total["resource"]["total_volume_gb"] == "0"
    for host in ("nowhere", "here"):
        api.refused(404, "GET", f"/os-hosts/{host}")


def test_a_host_is_disabled_and_enabled(api: BlockApi) -> None:
    api.add(worker())
    assert api.ok("PUT", f"/os-hosts/{HOST}", {"status": "disable"}) == {"host": HOST, "status": "disabled"}
    assert api.ok("GET", "/os-hosts") == {"hosts": []}
    assert api.ok("PUT", f"/os-hosts/{HOST}", {"status": "enable"}) == {"host": HOST, "status": "enabled"}
    assert len(api.ok("GET", "/os-hosts")["hosts"]) == 1
    api.refused(404, "PUT", "/os-hosts/nowhere", {"status": "enable"})


@pytest.mark.parametrize("body", [{}, {"status": "off"}, {"status": None}, {"status": "enable", "more": 1}])
def test_bad_changes(api: BlockApi, body: Any) -> None:
    api.add(worker())
    api.refused(400, "PUT", f"/os-hosts/{HOST}", body)


def test_only_admins(api: BlockApi) -> None:
    api.refused(403, "GET", "/os-hosts", who="member_a")
    api.refused(403, "GET", f"/os-hosts/{HOST}", who="member_a")
    api.refused(403, "PUT", f"/os-hosts/{HOST}", {"status": "enable"}, who="member_a")
