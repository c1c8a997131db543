from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pumice.share.drivers.base import Applied, Rule
from tests.support.ganesha import ganesha_server
from tests.support.guest import Guest, Network
from tests.support.mounting import NFS_3, NFS_4_1, exercise

pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.fixture
def network() -> Iterator[Network]:
    with Network() as network:
        yield network


def test_shares_at_two_machines(network: Network, tmp_path: Path) -> None:
    with (
        ganesha_server(tmp_path, network) as server,
        Guest(network, tmp_path) as guest,
        Guest(network, tmp_path, name="stranger") as stranger,
    ):
        exporter = server.exporter()
        exporter.start()
        rules: dict[str, Rule] = {}

        def apply() -> None:
            assert set(exporter.apply("one", list(rules.values())).values()) <= {Applied()}

        def allow(address: str, level: str) -> None:
            rules[address] = Rule(address, "ip", address, level)
            apply()

        def deny(address: str) -> None:
            del rules[address]
            apply()

        for version, options in enumerate([NFS_4_1, NFS_3]):
            share = tmp_path / str(version)
            share.mkdir()
            [location] = exporter.export("one", share, "first")
            exercise(guest, stranger, f"{options} {location.path}", allow, deny)
