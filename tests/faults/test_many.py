"""Faults of all kinds while users act on services of many processes.

After each round everything runs again, and all holds that `test_crash` asks for.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import pytest

from tests.faults.test_crash import REPERTOIRES, hold
from tests.support.faults import Kinds, faults_of, faults_of_disk, faults_underneath, play, together
from tests.support.loopfs import Filler
from tests.support.many import ManyProcesses
from tests.support.realbackends import real_shares, real_volumes
from tests.support.served import BLOCK, SHARE, Served
from tests.support.underneath import Underneath, underneath
from tests.support.users import Users

pytestmark = pytest.mark.slow

LOG = logging.getLogger(__name__)

FAULTS, SPAN, IN_FLIGHT = 6, 8.0, 20
"""Of each service."""


@pytest.fixture
def servers(request: pytest.FixtureRequest) -> Iterator[Underneath | None]:
    """With --database."""
    if not request.config.getoption("--database"):
        yield None
        return
    with underneath(request.getfixturevalue("rabbitmq"), request.getfixturevalue("etcd")) as servers:
        yield servers


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Both services at once with --database alone: the ordinary run has no time for that."""
    forms = {"block": [BLOCK], "share": [SHARE]}
    if metafunc.config.getoption("--database"):
        forms["both"] = [BLOCK, SHARE]
    metafunc.parametrize("services", forms.values(), ids=forms.keys())


def test_nothing_is_lost_whatever_fails(
    tmp_path: Path, request: pytest.FixtureRequest, servers: Underneath | None, services: Sequence[Served]
) -> None:
    """With --database on RabbitMQ, etcd and real storage too, and these fail as well; else without a broker, with locks
    in files, on simulated storage."""
    number, seed = request.config.getoption("--crash-rounds") or 1, request.config.getoption("--seed")
    with ExitStack() as ends, ThreadPoolExecutor() as pool:
        started = [ends.enter_context(deployed(served, tmp_path, servers)) for served in services]
        deployments = [deployment for deployment, _ in started]
        kinds = together(*(kinds for _, kinds in started), faults_underneath(servers) if servers else {})
        chance = Random(seed)
        crowds = [Users(deployment, REPERTOIRES[deployment.served.name], seed) for deployment in deployments]
        for round_ in range(number):
            where = f"seed {seed}, round {round_}"
            LOG.info(where)
            failing = pool.submit(play, kinds, chance, FAULTS * len(services), SPAN)
            for acting in [pool.submit(act, users, failing) for users in crowds]:
                acting.result()
            failing.result()
            for deployment in deployments:
                deployment.heal()
            for deployment, users in zip(deployments, crowds, strict=True):
                hold(deployment, users, where)


def act(users: Users, failing: Future[None]) -> None:
    while not failing.done():
        users.act(IN_FLIGHT)


@contextmanager
def deployed(served: Served, directory: Path, servers: Underneath | None) -> Iterator[tuple[ManyProcesses, Kinds]]:
    """A running service, and what may happen to it; on servers, one worker has real storage."""
    (home := directory / served.name).mkdir()
    if not servers:
        with ManyProcesses(served, home) as deployment:
            yield deployment, faults_of(deployment)
        return
    with (
        real_volumes(home, "mixed") if served is BLOCK else real_shares("mixed") as real,
        ManyProcesses(served, home, servers, real.options) as deployment,
    ):
        yield deployment, together(faults_of(deployment), faults_of_disk(served.name, Filler(real.root)))
