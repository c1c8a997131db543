from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.scenarios import COMMON, DATA, File, Scenario, read
from tests.contract.worlds import InProcess, Remote

FILES = {path.stem: read(path) for path in sorted(DATA.glob("*.yaml")) if path.name != COMMON}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("contract tests against an endpoint")
    group.addoption("--os-cloud", help="An administrator's entry of clouds.yaml; without it, all runs in process.")
    group.addoption("--endpoint", help="The block storage endpoint; by default the catalog's.")
    group.addoption("--peer", action="store_true", help="The endpoint is not Pumice: leave out our own extensions.")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "scenario" in metafunc.fixturenames:
        wanted = [
            (file, scenario)
            for file in FILES.values()
            for scenario in file.scenarios
            if _can_run(scenario, metafunc.config)
        ]
        ids = [f"{file.name}: {scenario.name}" for file, scenario in wanted]
        metafunc.parametrize(("world", "scenario"), wanted, ids=ids, indirect=["world"], scope="module")


def _can_run(scenario: Scenario, config: pytest.Config) -> bool:
    elsewhere = bool(config.getoption("os_cloud", None))
    return not (elsewhere and scenario.inside) and not (scenario.ours and config.getoption("peer", False))


@pytest.fixture(scope="session")
def remote(request: pytest.FixtureRequest) -> Iterator[Remote]:
    found = Remote(request.config.getoption("os_cloud"), request.config.getoption("endpoint"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess | Remote]:
    """The place where the scenarios of one file run; when they are through, nothing may be left wrong in it."""
    file: File = request.param
    if request.config.getoption("os_cloud", None):
        yield request.getfixturevalue("remote")
        return
    inside = InProcess(tmp_path_factory.mktemp(file.name), file)
    with inside.block:
        yield inside
        inside.settle()
        assert inside.block.all_wrong() == []
