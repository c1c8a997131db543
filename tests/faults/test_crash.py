"""kill -9 of the whole process at random moments, with many operations in flight.

After each restart: every operation ends, nothing rests in a moving status, counters are the sums of the rows, and
the backend holds exactly what the rows say.
"""

from __future__ import annotations

import configparser
import random
import threading
import time
from pathlib import Path

import pytest

from tests.support.deployment import Deployment
from tests.support.loopfs import loop_filesystem
from tests.support.tgtd import TgtdServer
from tests.support.users import Users

IN_FLIGHT = 60


def rounds(deployment: Deployment, number: int, seed: int, between: object = None) -> int:
    """Returns how many requests were accepted in all."""
    chance = random.Random(seed)
    users = Users(deployment, seed)
    for number_ in range(number):
        acting = threading.Thread(target=users.act, args=(IN_FLIGHT,))
        acting.start()
        time.sleep(chance.uniform(0.3, 3.5))
        deployment.kill()
        acting.join()
        if callable(between):
            between()
        deployment.start()
        deployment.quiet(120)
        wrong = deployment.wrong()
        assert not wrong, f"seed {seed}, round {number_}: " + "\n".join(wrong)
    return users.accepted


SLOW = {
    "sim": {
        "volume_driver": "simulated",
        "simulated_latency": 2,
        "simulated_directory": "backend",
        "simulated_capacity_gb": 10000,
    }
}
"""Each storage call takes two seconds, so that the kill lands in the middle of many of them."""


def sections_of(file: str) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(interpolation=None)
    with Path(file).open() as lines:
        parser.read_file(lines)
    return {name: dict(parser[name]) for name in parser.sections()}


@pytest.mark.slow
def test_nothing_is_lost_with_slow_storage(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """With --crash-backend on the backends of that file instead, which must hold nothing else."""
    own = request.config.getoption("--crash-backend")
    number, seed = request.config.getoption("--crash-rounds"), request.config.getoption("--seed")
    with Deployment(tmp_path, sections_of(own) if own else SLOW) as deployment:
        assert rounds(deployment, number, seed) > 0


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("tgtd_dies", [False, True], ids=["tgtd-survives", "tgtd-killed-too"])
def test_nothing_is_lost_with_real_storage(tmp_path: Path, request: pytest.FixtureRequest, tgtd_dies: bool) -> None:
    number, seed = request.config.getoption("--crash-rounds"), request.config.getoption("--seed")
    with loop_filesystem("btrfs", tmp_path, 8192) as directory, TgtdServer() as tgtd:

        def between() -> None:
            if tgtd_dies:
                tgtd.kill()
                tgtd.start()

        backend = {"volume_driver": "file", "directory": directory, **tgtd.options}
        with Deployment(tmp_path, {"file": backend}) as deployment:
            assert rounds(deployment, number, seed, between) > 0
