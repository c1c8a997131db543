from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.contract.scenarios import APIS, COMMON, DATA, Api, File, Scenario, read
from tests.contract.worlds import InProcess, Remote

FILES = [read(path) for path in sorted(DATA.glob("*/*.yaml")) if path.name != COMMON]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("contract tests against an endpoint")
    group.addoption("--os-cloud", help="An administrator's entry of clouds.yaml; without it, all runs in process.")
    group.addoption("--service", choices=sorted(APIS), help="Only the contract of this service.")
    group.addoption("--endpoint", help="The endpoint of --service; by default the catalog's.")
    group.addoption("--peer", action="store_true", help="The endpoint is not Pumice: leave out our own extensions.")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "scenario" in metafunc.fixturenames:
        if metafunc.config.getoption("endpoint", None) and not metafunc.config.getoption("service", None):
            raise pytest.UsageError("--endpoint needs --service: it is one service's")
        wanted = [
            (file, scenario) for file in FILES for scenario in file.scenarios if _can_run(scenario, metafunc.config)
        ]
        ids = [f"{file.api.name} {file.name}: {scenario.name}" for file, scenario in wanted]
        metafunc.parametrize(("world", "scenario"), wanted, ids=ids, indirect=["world"], scope="module")


def _can_run(scenario: Scenario, config: pytest.Config) -> bool:
    elsewhere = bool(config.getoption("os_cloud", None))
    if config.getoption("service", None) not in (None, scenario.api.name):
        return False
    return not (elsewhere and scenario.inside) and not (scenario.ours and config.getoption("peer", False))


@pytest.fixture(scope="session")
def remotes(request: pytest.FixtureRequest) -> Iterator[Callable[[Api], Remote]]:
    """The endpoint of each service, asked for when its first scenario runs."""
    made: dict[Api, Remote] = {}

    def of(api: Api) -> Remote:
        if api not in made:
            made[api] = Remote(api, request.config.getoption("os_cloud"), request.config.getoption("endpoint"))
        return made[api]

    yield of
    for one in made.values():
        one.close()


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess | Remote]:
    """The place where the scenarios of one file run; when they are through, nothing may be left wrong in it."""
    file: File = request.param
    if request.config.getoption("os_cloud", None):
        yield request.getfixturevalue("remotes")(file.api)
        return
    inside = InProcess(tmp_path_factory.mktemp(file.name), file)
    with inside.running:
        yield inside
        inside.settle()
        assert inside.running.all_wrong() == []
