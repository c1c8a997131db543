"""What keeps a worker from its start."""

from __future__ import annotations

import pytest

from pumice.kernel import config
from pumice.kernel.config import ConfigError
from pumice.kernel.locks import Locks, LockServiceAway


def locks_at(url: str) -> Locks:
    return Locks(config.load("block", (), {"coordination": {"backend_url": url}}))


def test_a_lock_service_that_is_away_is_told_so_that_it_can_be_waited_for() -> None:
    locks = locks_at("etcd3+http://127.0.0.1:9?api_version=v3")
    for _ in range(2):
        with pytest.raises(LockServiceAway, match=r"etcd3\+http does not answer"):
            locks.start()
    locks.stop()


def test_a_kind_that_is_not_there_is_a_wrong_option() -> None:
    with pytest.raises(ConfigError, match=r"^\[coordination\] backend_url: nonsense cannot be used here"):
        locks_at("nonsense://127.0.0.1").start()
