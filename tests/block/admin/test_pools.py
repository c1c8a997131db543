from __future__ import annotations

import json
import math
from typing import Any

import pytest

from pumice.kernel.scheduling.pool import PoolSample, report
from tests.block.admin.conftest import HOST, worker
from tests.block.conftest import BlockApi

CAPABILITIES = {
    "volume_backend_name": "fast",
    "vendor_name": "Pumice",
    "driver_version": "1.0",
    "storage_protocol": "iSCSI",
    "multiattach": True,
}


def backend(api: BlockApi, host: str = HOST, *pools: str, row: Any = None, **capabilities: Any) -> None:
    api.add(row or worker(host))
    samples = [PoolSample(name, 100.0, 60.0, 10.0, True, 5, 2.0, {**CAPABILITIES, **capabilities}) for name in pools]
    api.db.write(lambda tx: report(tx, host, samples, {}))


def names(api: BlockApi, query: str = "", **more: Any) -> list[str]:
    return [one["name"] for one in api.ok("GET", f"/scheduler-stats/get_pools?{query}", **more)["pools"]]


def test_pools_and_what_they_report(api: BlockApi) -> None:
    backend(api, HOST, "b", "a")
    assert api.ok("GET", "/scheduler-stats/get_pools") == {"pools": [{"name": f"{HOST}#a"}, {"name": f"{HOST}#b"}]}
    first = api.ok("GET", "/scheduler-stats/get_pools?detail=True")["pools"][0]
    assert set(first) == {"name", "capabilities"}
    shown = first["capabilities"]
    assert shown["pool_name"] == "a"
    assert (shown["total_capacity_gb"], shown["free_capacity_gb"], shown["reserved_percentage"]) == (100.0, 60.0, 5)
    assert shown["vendor_name"] == "Pumice"
    assert isinstance(shown["timestamp"], str)
    api.refused(400, "GET", "/scheduler-stats/get_pools?detail=perhaps")
    api.refused(403, "GET", "/scheduler-stats/get_pools", who="member_a")


def test_capacities_that_are_no_numbers(api: BlockApi) -> None:
    api.add(worker())
    api.db.write(lambda tx: report(tx, HOST, [PoolSample("a", math.inf, None)], {}))
    answer = api.call("GET", "/scheduler-stats/get_pools?detail=true")
    shown = json.loads(answer.text)["pools"][0]["capabilities"]
    assert (shown["total_capacity_gb"], shown["free_capacity_gb"]) == ("infinite", "unknown")


def test_pools_of_workers_that_take_no_work_are_left_out(api: BlockApi) -> None:
    backend(api, HOST, "a")
    backend(api, "down@file", "a", row=worker("down@file", age=100))
    backend(api, "off@file", "a", row=worker("off@file", disabled=True))
    backend(api, "broken@file", "a", row=worker("broken@file", backend_state="down"))
    backend(api, "c@file", "a", row=worker("member@file", cluster="c@file"))
    assert names(api) == ["c@file#a", f"{HOST}#a"]


def test_filters_at_each_version(api: BlockApi) -> None:
    backend(api, HOST, "a")
    backend(api, "slow@file", "a", multiattach=False, volume_backend_name="slow")
    both, slow = [f"{HOST}#a", "slow@file#a"], ["slow@file#a"]
    assert names(api, "volume_backend_name=slow", version="3.27") == both
    assert names(api, "volume_backend_name=slow", version="3.28") == slow
    assert names(api, "multiattach=false&name=slow@file%23a", version="3.30") == slow
    assert names(api, "cats=1", version="3.30") == []
    assert names(api, "name=slow@file%23a", version="3.31") == slow
    assert "volume_type" in api.refused(400, "GET", "/scheduler-stats/get_pools?multiattach=false", version="3.31")


def test_pools_that_fit_a_type(api: BlockApi) -> None:
    backend(api, HOST, "a")
    backend(api, "slow@file", "a", volume_backend_name="slow")
    made = api.ok("POST", "/types", {"volume_type": {"name": "t", "extra_specs": {"volume_backend_name": "slow"}}})
    for name in ("t", made["volume_type"]["id"]):
        assert names(api, f"volume_type={name}", version="3.35") == ["slow@file#a"]
    assert len(names(api, "volume_type=t", version="3.34")) == 2
    api.refused(404, "GET", "/scheduler-stats/get_pools?volume_type=none")


def test_what_a_backend_can_do(api: BlockApi) -> None:
    backend(api, HOST, "a", "b")
    shown = api.ok("GET", f"/capabilities/{HOST}")
    assert shown == {
        "namespace": f"OS::Storage::Capabilities::{HOST}",
        "vendor_name": "Pumice",
        "volume_backend_name": "fast",
        "pool_name": None,
        "driver_version": "1.0",
        "storage_protocol": "iSCSI",
        "display_name": None,
        "description": None,
        "visibility": "public",
        "replication_targets": [],
        "properties": {},
    }
    of_pool = api.ok("GET", f"/capabilities/{HOST}%23b")
    assert (of_pool["pool_name"], of_pool["visibility"]) == ("b", "pool")


@pytest.mark.parametrize("host", ["nowhere@file", "here", f"{HOST}%23none"])
def test_backends_that_are_none(api: BlockApi, host: str) -> None:
    backend(api, HOST, "a")
    api.refused(404, "GET", f"/capabilities/{host}")
    for who in ("member_a", "reader_a"):
        api.refused(403, "GET", f"/capabilities/{HOST}", who=who)
