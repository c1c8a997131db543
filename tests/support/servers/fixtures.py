"""Servers that are started once a run, for the first test that wants them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.servers.coordination import Etcd, ZooKeeper
from tests.support.servers.rabbitmq import RabbitMQ


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[RabbitMQ]:
    """It runs; who stops it starts it again."""
    with RabbitMQ() as broker:
        yield broker


@pytest.fixture(scope="session")
def etcd() -> Iterator[Etcd]:
    """It runs; who stops it starts it again."""
    with Etcd() as server:
        yield server


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[ZooKeeper]:
    """It runs; who stops it starts it again."""
    with ZooKeeper() as server:
        yield server
