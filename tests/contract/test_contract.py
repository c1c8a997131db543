"""Every scenario of the data files, and that they leave no route out."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pumice.block.routes import API
from pumice.kernel.api.routes import Route
from tests.contract.conftest import FILES
from tests.contract.scenarios import Scenario, World, run

STEPS = [step for file in FILES.values() for scenario in file.scenarios for step in scenario.steps if "ask" in step]
NEVER_TAKEN = {
    "PUT /os-services/failover_host": "no driver replicates",
    "POST /volumes/{id}/action os-extend_volume_completion": "compute extends no volume of this driver",
}


def test_scenario(world: World, scenario: Scenario) -> None:
    run(scenario, world)


@pytest.mark.parametrize("route", API.table, ids=lambda route: f"{route.method} {route.path} {route.action}".rstrip())
def test_every_route_is_asked(route: Route) -> None:
    """Each row of the table answers well in some scenario, and is refused in another."""
    statuses = [step.get("status", 200) for step in STEPS if _asks(step, route)]
    name = f"{route.method} {route.path} {route.action}".rstrip()
    assert (route.success in statuses) is (name not in NEVER_TAKEN)
    assert any(status >= 400 for status in statuses)


def _asks(step: dict[str, Any], route: Route) -> bool:
    method, path = step["ask"].split(" ", 1)
    pattern = re.sub(r"\{\w+\}", "[^/]+", route.path)
    meant = method == route.method and re.fullmatch(pattern, path.partition("?")[0])
    return bool(meant) and (not route.action or route.action in (step.get("body") or {}))
