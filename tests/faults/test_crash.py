"""kill -9 of a whole service at random moments, with many operations in flight.

After each restart: every operation ends, what was accepted is known, nothing rests in a moving status, counters are
the sums of the rows, the backend holds exactly what the rows say, and its servers let in whom the rules name.
"""

from __future__ import annotations

import configparser
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.deployment import Deployment, OneProcess
from tests.support.realbackends import real_shares, real_volumes
from tests.support.served import BLOCK, SHARE, Served
from tests.support.share_users import SHARES
from tests.support.users import Users
from tests.support.volume_users import VOLUMES

pytestmark = pytest.mark.slow

IN_FLIGHT = 60
REPERTOIRES = {"block": VOLUMES, "share": SHARES}


def nothing() -> None:
    """Happens."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """How often to kill, and from which seed the actions and moments come."""

    number: int
    seed: int

    def run(self, deployment: Deployment, between: Callable[[], None] = nothing) -> None:
        """:param between: what happens while the service is dead"""
        chance = random.Random(self.seed)
        users = Users(deployment, REPERTOIRES[deployment.served.name], self.seed)
        for number in range(self.number):
            where = f"seed {self.seed}, round {number}"
            acting = threading.Thread(target=users.send, args=(users.choose(IN_FLIGHT),))
            acting.start()
            time.sleep(chance.uniform(0.3, 3.5))
            deployment.kill()
            acting.join()
            between()
            deployment.start()
            hold(deployment, users, where)
        assert users.accepted


def hold(deployment: Deployment, users: Users, where: str) -> None:
    """What has to hold some time after a round; exports that a server has lost come back while requests are taken."""
    users.repeat()
    deployment.quiet(240)
    assert deployment.wrong(users.accepted, users.made.values()) == [], where
    end = time.monotonic() + 120
    while wrong := deployment.wrong_on_backends():
        assert time.monotonic() < end, "\n".join([where, *wrong])
        time.sleep(0.5)


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> Rounds:
    return Rounds(request.config.getoption("--crash-rounds") or 2, request.config.getoption("--seed"))


def slow(driver: str) -> dict[str, dict[str, Any]]:
    """Each storage call takes two seconds, so that the kill lands in the middle of many of them."""
    simulated = {"simulated_latency": 2, "simulated_directory": "backend", "simulated_capacity_gb": 10000}
    return {"sim": {driver: "simulated", **simulated}}


def sections_of(file: str) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(interpolation=None)
    with Path(file).open() as lines:
        parser.read_file(lines)
    return {name: dict(parser[name]) for name in parser.sections()}


@pytest.mark.parametrize("served", [BLOCK, SHARE], ids=lambda served: served.name)
def test_nothing_is_lost_with_slow_storage(
    tmp_path: Path, request: pytest.FixtureRequest, rounds: Rounds, served: Served
) -> None:
    """With --crash-backend on the backends of that file instead, which must hold nothing else."""
    own = request.config.getoption("--crash-backend")
    backends = sections_of(own) if own else slow("volume_driver" if served is BLOCK else "share_driver")
    # As many shares are made sure of at a time as operations run, or these would wait for that.
    more = {"ensure_threads": 60} if served is SHARE else {}
    with OneProcess(served, tmp_path, backends, **more) as deployment:
        rounds.run(deployment)


@pytest.mark.real
@pytest.mark.parametrize("tgtd_dies", [False, True], ids=["tgtd-survives", "tgtd-killed-too"])
def test_nothing_is_lost_with_real_volumes(tmp_path: Path, rounds: Rounds, tgtd_dies: bool) -> None:
    with (
        real_volumes(tmp_path) as backend,
        OneProcess(BLOCK, tmp_path, {"file": backend.options}) as deployment,
    ):
        rounds.run(deployment, backend.kill_servers if tgtd_dies else nothing)


@pytest.mark.real
@pytest.mark.parametrize("servers_die", [False, True], ids=["servers-survive", "servers-killed-too"])
def test_nothing_is_lost_with_real_shares(tmp_path: Path, rounds: Rounds, servers_die: bool) -> None:
    with real_shares() as backend, OneProcess(SHARE, tmp_path, {"btrfs": backend.options}) as deployment:
        rounds.run(deployment, backend.kill_servers if servers_die else nothing)
