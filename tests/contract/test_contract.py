"""Every scenario of the data files."""

from __future__ import annotations

from tests.contract.scenarios import Scenario, World, run


def test_scenario(world: World, scenario: Scenario) -> None:
    run(scenario, world)
