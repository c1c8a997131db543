"""Extending volumes that are attached: compute hears of it, or does it itself (3.71)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.block.attachments.world import SERVER, World
from tests.support.compute import ComputeServer
from tests.support.waiting import eventually


@pytest.fixture
def nova() -> Iterator[ComputeServer]:
    with ComputeServer() as server:
        yield server


@pytest.fixture
def world(nova: ComputeServer, tmp_path: Path) -> Iterator[World]:
    with World(tmp_path, sections={"nova": nova.options}) as made:
        yield made


@pytest.fixture
def by_compute(nova: ComputeServer, tmp_path: Path) -> Iterator[World]:
    backends = {"sim": {"volume_driver": "simulated", "simulated_extended_by_compute": True}}
    with World(tmp_path, backends, sections={"nova": nova.options}, extend_completion_timeout=60) as made:
        yield made


def size(world: World, volume: str) -> Any:
    return world.ok("GET", f"/volumes/{volume}")["volume"]["size"]


def test_compute_is_told_of_the_new_size(world: World, nova: ComputeServer) -> None:
    volume = world.volume()
    world.attached(volume, instance_uuid=SERVER)
    world.no_action(400, volume, "os-extend", {"new_size": 2}, version="3.41")
    world.action(volume, "os-extend", {"new_size": 2}, version="3.42")
    assert world.rest(f"/volumes/{volume}") == "in-use"
    assert size(world, volume) == 2
    eventually(lambda: bool(nova.events()))
    assert nova.events() == [{"name": "volume-extended", "server_uuid": SERVER, "tag": volume}]


def test_nobody_is_told_where_no_server_has_it(world: World, nova: ComputeServer) -> None:
    volume = world.volume()
    world.attached(volume)
    world.action(volume, "os-extend", {"new_size": 2})
    assert world.rest(f"/volumes/{volume}") == "in-use"
    assert nova.calls == []


def test_an_attachment_that_ends_meanwhile_leaves_it_available(world: World) -> None:
    volume = world.volume()
    id = world.attached(volume)["id"]
    world.driver.dial("extend_volume", latency=1.0)
    world.action(volume, "os-extend", {"new_size": 2})
    eventually(lambda: world.driver.calls["extend_volume"] == 1)
    world.ok("DELETE", f"/attachments/{id}")
    assert world.rest(f"/volumes/{volume}") == "available"
    assert world.statuses(volume) == ("available", "detached")
    assert world.all_wrong() == []


class TestCompletion:
    def extend(self, world: World) -> str:
        volume = world.volume()
        world.attached(volume, instance_uuid=SERVER)
        world.action(volume, "os-extend", {"new_size": 3})
        return volume

    def complete(self, world: World, volume: str, body: Any) -> None:
        answered = []

        def accepted() -> bool:
            path = f"/volumes/{volume}/action"
            answered.append(world.send("POST", path, {"os-extend_volume_completion": body}, who="admin").status_code)
            return answered[-1] == 202

        eventually(accepted)
        assert set(answered) <= {400, 202}

    def test_compute_extends(self, by_compute: World, nova: ComputeServer) -> None:
        volume = self.extend(by_compute)
        eventually(lambda: bool(nova.events()))
        assert by_compute.statuses(volume)[0] == "extending"
        assert size(by_compute, volume) == 1
        by_compute.no_action(403, volume, "os-extend_volume_completion", {})
        self.complete(by_compute, volume, {})
        assert by_compute.rest(f"/volumes/{volume}") == "in-use"
        assert size(by_compute, volume) == 3
        assert by_compute.driver.calls["extend_volume"] == 0
        by_compute.no_action(400, volume, "os-extend_volume_completion", {}, who="admin")

    def test_compute_could_not(self, by_compute: World) -> None:
        volume = self.extend(by_compute)
        self.complete(by_compute, volume, {"error": True})
        assert by_compute.rest(f"/volumes/{volume}") == "error_extending"
        assert size(by_compute, volume) == 1
        assert by_compute.messages(volume) == ["VOLUME_VOLUME_007_009"]
        assert by_compute.wrong() == []

    def test_compute_does_not_take_it(self, by_compute: World, nova: ComputeServer) -> None:
        nova.broken = True
        volume = self.extend(by_compute)
        assert by_compute.rest(f"/volumes/{volume}") == "error_extending"
        assert by_compute.messages(volume) == ["VOLUME_VOLUME_007_009"]

    def test_compute_never_answers(self, nova: ComputeServer, tmp_path: Path) -> None:
        backends = {"sim": {"volume_driver": "simulated", "simulated_extended_by_compute": True}}
        with World(tmp_path, backends, sections={"nova": nova.options}, extend_completion_timeout=1) as world:
            volume = self.extend(world)
            assert world.rest(f"/volumes/{volume}") == "error_extending"
            assert size(world, volume) == 1

    def test_free_volumes_are_extended_as_ever(self, by_compute: World, nova: ComputeServer) -> None:
        volume = by_compute.volume()
        by_compute.action(volume, "os-extend", {"new_size": 3})
        assert by_compute.rest(f"/volumes/{volume}") == "available"
        assert size(by_compute, volume) == 3
        assert nova.calls == []
