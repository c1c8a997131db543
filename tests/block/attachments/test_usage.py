"""Who may take away what a server uses (CVE-2023-2088), at each of the four ways to do it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from falcon.testing import Result

from pumice.block.attachments import handlers
from pumice.block.attachments.usage import refuse_if_used
from tests.block.attachments.world import CONNECTOR, OTHER_CONNECTOR, OTHER_SERVER, SERVER, World
from tests.support.compute import ComputeServer

Way = Callable[[World, str, str, str], Result]


def delete(world: World, _volume: str, id: str, who: str) -> Result:
    return world.send("DELETE", f"/attachments/{id}", who=who)


def detach(world: World, volume: str, id: str, who: str) -> Result:
    return world.send("POST", f"/volumes/{volume}/action", {"os-detach": {"attachment_id": id}}, who=who)


def terminate(world: World, volume: str, _id: str, who: str) -> Result:
    return world.send("POST", f"/volumes/{volume}/action", {"os-terminate_connection": {"connector": None}}, who=who)


def force_detach(world: World, volume: str, id: str, who: str) -> Result:
    body = {"os-force_detach": {"attachment_id": id, "connector": None}}
    # The action is an administrator's; being one does not lift the rule.
    return world.send("POST", f"/volumes/{volume}/action", body, who="admin_a" if who == "member_a" else who)


WAYS = [delete, detach, terminate, force_detach]


@pytest.fixture
def nova() -> Iterator[ComputeServer]:
    with ComputeServer() as server:
        yield server


@pytest.fixture
def world(nova: ComputeServer, tmp_path: Path) -> Iterator[World]:
    with World(tmp_path, sections={"nova": nova.options}) as made:
        yield made


@pytest.mark.parametrize("way", WAYS)
class TestUsed:
    def test_users_are_refused(self, world: World, nova: ComputeServer, way: Way) -> None:
        volume = world.volume()
        id = world.attached(volume, instance_uuid=SERVER)["id"]
        nova.uses[SERVER, volume] = id
        answer = way(world, volume, id, "member_a")
        assert answer.status_code == 409
        assert SERVER in answer.text
        assert world.state(id) == "attached"
        assert world.statuses(volume) == ("in-use", "attached")
        assert world.exports() == {id}

    def test_so_they_are_when_compute_does_not_answer(self, world: World, nova: ComputeServer, way: Way) -> None:
        volume = world.volume()
        id = world.attached(volume, instance_uuid=SERVER)["id"]
        nova.broken = True
        assert way(world, volume, id, "member_a").status_code == 409

    def test_not_when_the_server_is_gone(self, world: World, way: Way) -> None:
        volume = world.volume()
        id = world.attached(volume, instance_uuid=SERVER)["id"]
        assert way(world, volume, id, "member_a").status_code in (200, 202)

    def test_not_when_the_server_uses_another(self, world: World, nova: ComputeServer, way: Way) -> None:
        volume = world.volume()
        id = world.attached(volume, instance_uuid=SERVER)["id"]
        nova.uses[SERVER, volume] = OTHER_SERVER
        assert way(world, volume, id, "member_a").status_code in (200, 202)

    def test_not_without_a_server(self, world: World, nova: ComputeServer, way: Way) -> None:
        volume = world.volume()
        id = world.attached(volume)["id"]
        nova.broken = True
        assert way(world, volume, id, "member_a").status_code in (200, 202)

    def test_not_before_it_is_connected(self, world: World, nova: ComputeServer, way: Way) -> None:
        volume = world.volume()
        id = world.attachment(volume, instance_uuid=SERVER)["id"]
        nova.broken = True
        assert way(world, volume, id, "member_a").status_code in (200, 202)


@pytest.mark.parametrize("way", [delete, detach, terminate])
def test_the_service_itself_may(world: World, nova: ComputeServer, way: Way) -> None:
    volume = world.volume()
    id = world.attached(volume, instance_uuid=SERVER)["id"]
    nova.uses[SERVER, volume] = id
    assert way(world, volume, id, "member_a_via_service").status_code in (200, 202)
    assert nova.calls == []


def test_another_role_than_service_may_be_the_trusted_one(tmp_path: Path) -> None:
    with World(tmp_path, sections={"keystone_authtoken": {"service_token_roles": "compute"}}) as world:
        volume = world.volume()
        id = world.attached(volume, instance_uuid=SERVER)["id"]
        assert delete(world, volume, id, "member_a_via_service").status_code == 409


def test_with_several_attachments_it_is_never_clear(world: World) -> None:
    volume = world.shared()
    world.attached(volume)
    world.attached(volume, OTHER_CONNECTOR)
    assert terminate(world, volume, "", "member_a").status_code == 409
    assert terminate(world, volume, "", "member_a_via_service").status_code == 202


def test_one_that_is_connected_while_compute_is_asked(
    world: World, nova: ComputeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's delete that was allowed because there was no connection yet does not take one that has come since."""
    volume = world.volume()
    id = world.attachment(volume, instance_uuid=SERVER)["id"]

    def ask_and_connect(*arguments: object) -> None:
        refuse_if_used(*arguments)  # type: ignore[arg-type]
        world.connect(id, CONNECTOR, who="member_a_via_service")
        nova.uses[SERVER, volume] = id

    monkeypatch.setattr(handlers, "refuse_if_used", ask_and_connect)
    assert delete(world, volume, id, "member_a").status_code == 409
    assert world.state(id) == "attaching"
