"""Faults of all kinds while users act on a service of many processes.

After each round everything runs again, and all holds that `test_crash` asks for.
"""

from __future__ import annotations

import logging
import random
import threading
from pathlib import Path

import pytest

from tests.faults.test_crash import REPERTOIRES, hold
from tests.support.faults import faults_around, faults_of, play
from tests.support.many import ManyProcesses
from tests.support.served import BLOCK, SHARE, Served
from tests.support.users import Users

pytestmark = pytest.mark.slow

LOG = logging.getLogger(__name__)

FAULTS, SPAN, IN_FLIGHT = 6, 8.0, 20


@pytest.mark.parametrize("served", [BLOCK, SHARE], ids=lambda served: served.name)
def test_nothing_is_lost_whatever_fails(tmp_path: Path, request: pytest.FixtureRequest, served: Served) -> None:
    """With --database on RabbitMQ and etcd too, and these fail as well; else without a broker, with locks in files."""
    number, seed = request.config.getoption("--crash-rounds") or 1, request.config.getoption("--seed")
    around, sections, options = {}, {}, {}
    if request.config.getoption("--database"):
        broker, etcd = request.getfixturevalue("rabbitmq"), request.getfixturevalue("etcd")
        around = faults_around(broker, etcd)
        options["transport_url"] = broker.url
        sections["coordination"] = {"backend_url": etcd.url()}
    with ManyProcesses(served, tmp_path, sections, **options) as deployment:
        chance = random.Random(seed)
        users = Users(deployment, REPERTOIRES[served.name], seed)
        for round_ in range(number):
            where = f"seed {seed}, round {round_}"
            LOG.info(where)
            faults = {**faults_of(deployment), **around}
            failing = threading.Thread(target=play, args=(faults, chance, FAULTS, SPAN))
            failing.start()
            while failing.is_alive():
                users.act(IN_FLIGHT)
            failing.join()
            deployment.heal()
            hold(deployment, users, where)
