"""Every scenario of the data files, and that they leave no route out."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pumice.block.routes import API as BLOCK
from pumice.kernel.api.routes import Route
from pumice.share.routes import API as SHARE
from tests.contract.conftest import FILES
from tests.contract.scenarios import Scenario, World, run

TABLES = {"block": BLOCK.table, "share": SHARE.table}
STEPS = [
    (file.api.name, step) for file in FILES for scenario in file.scenarios for step in scenario.steps if "ask" in step
]
NEVER_TAKEN = {
    "block PUT /os-services/failover_host": "no driver replicates",
    "block POST /volumes/{id}/action os-extend_volume_completion": "compute extends no volume of this driver",
    "share GET /extensions/{alias}": "there are no extensions",
}


def test_scenario(world: World, scenario: Scenario) -> None:
    run(scenario, world)


def _name(service: str, route: Route) -> str:
    return f"{service} {route.method} {route.path} {route.action}".rstrip()


@pytest.mark.parametrize(
    ("service", "route"),
    [pytest.param(service, route, id=_name(service, route)) for service, table in TABLES.items() for route in table],
)
def test_every_route_is_asked(service: str, route: Route) -> None:
    """Each row of the tables answers well in some scenario, and is refused in another."""
    statuses = [step.get("status", 200) for asked, step in STEPS if asked == service and _asks(step, route)]
    assert (route.success in statuses) is (_name(service, route) not in NEVER_TAKEN)
    assert any(status >= 400 for status in statuses)


def _asks(step: dict[str, Any], route: Route) -> bool:
    method, path = step["ask"].split(" ", 1)
    patterns = [re.sub(r"\{\w+\}", "[^/]+", one) for one in (route.path, *route.aliases)]
    meant = method == route.method and any(re.fullmatch(one, path.partition("?")[0]) for one in patterns)
    return bool(meant) and (not route.action or route.action in (step.get("body") or {}))
