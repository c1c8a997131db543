"""What is asked of the compute service, and what its answers mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pumice.block.compute import Compute
from pumice.kernel import config
from tests.support.compute import ComputeServer


@pytest.fixture
def nova() -> Iterator[ComputeServer]:
    with ComputeServer() as server:
        yield server


@pytest.fixture
def compute(nova: ComputeServer, tmp_path: Path) -> Compute:
    return Compute(config.load("block", (), {"DEFAULT": {"state_path": str(tmp_path)}, "nova": nova.options}))


def test_a_server_uses_a_volume_by_one_attachment(nova: ComputeServer, compute: Compute) -> None:
    nova.uses["server", "volume"] = "attachment"
    assert compute.uses("server", "volume", "attachment")
    assert not compute.uses("server", "volume", "another")
    assert not compute.uses("another", "volume", "attachment")
    assert nova.calls[0].version == "compute 2.89"


def test_no_answer_counts_as_used(nova: ComputeServer, compute: Compute, tmp_path: Path) -> None:
    nova.broken = True
    assert compute.uses("server", "volume", "attachment")
    without = Compute(config.load("block", (), {"DEFAULT": {"state_path": str(tmp_path)}}))
    assert without.uses("server", "volume", "attachment")
    assert without.host_of("server") is None


def test_extended_volumes_are_events(nova: ComputeServer, compute: Compute) -> None:
    assert compute.volume_extended("volume", ["one", "two"])
    assert nova.events() == [
        {"name": "volume-extended", "server_uuid": "one", "tag": "volume"},
        {"name": "volume-extended", "server_uuid": "two", "tag": "volume"},
    ]
    assert not compute.volume_extended("volume", [])
    nova.broken = True
    assert not compute.volume_extended("volume", ["one"])


def test_hosts_of_servers(nova: ComputeServer, compute: Compute) -> None:
    nova.hosts["server"] = "compute1"
    assert compute.host_of("server") == "compute1"
    assert compute.host_of("another") is None


@pytest.mark.parametrize("ask", [lambda compute: compute.uses("s", "v", "a")])
def test_a_dead_service_is_no_exception(tmp_path: Path, ask: Callable[[Compute], bool]) -> None:
    with ComputeServer() as server:
        options = server.options
    assert ask(Compute(config.load("block", (), {"DEFAULT": {"state_path": str(tmp_path)}, "nova": options})))
