"""The same calls through python-cinderclient and openstacksdk, at the oldest and the newest version of the API."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any, Protocol

import cinderclient.exceptions
import openstack.exceptions
import pytest

from tests.acceptance.running import Pumice

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("member")]

DENIED = (cinderclient.exceptions.Forbidden, openstack.exceptions.ForbiddenException)
ABSENT = (cinderclient.exceptions.NotFound, openstack.exceptions.NotFoundException)


class Client(Protocol):
    """What the two libraries can do, under one name each; things are dicts or named by their id."""

    def create(self, **wanted: Any) -> str: ...

    def snapshot(self, volume: str) -> str: ...

    def extend(self, volume: str, size: int) -> None: ...

    def rename(self, volume: str, name: str) -> None: ...

    def show(self, volume: str) -> dict[str, Any]: ...

    def show_snapshot(self, snapshot: str) -> dict[str, Any]: ...

    def volumes(self) -> list[dict[str, Any]]: ...

    def delete(self, volume: str) -> None: ...

    def delete_snapshot(self, snapshot: str) -> None: ...

    def create_type(self, name: str) -> str: ...

    def types(self) -> set[str]: ...

    def delete_type(self, id: str) -> None: ...

    def services(self) -> dict[str, str]: ...

    def quota(self, project: str) -> int: ...


class Cinder:
    def __init__(self, pumice: Pumice, who: str, version: str) -> None:
        self._api = pumice.cinder(who, version)

    def create(self, **wanted: Any) -> str:
        return str(self._api.volumes.create(**{"size": None, **wanted}).id)

    def snapshot(self, volume: str) -> str:
        return str(self._api.volume_snapshots.create(volume).id)

    def extend(self, volume: str, size: int) -> None:
        self._api.volumes.extend(volume, size)

    def rename(self, volume: str, name: str) -> None:
        self._api.volumes.update(volume, name=name)

    def show(self, volume: str) -> dict[str, Any]:
        return dict(self._api.volumes.get(volume).to_dict())

    def show_snapshot(self, snapshot: str) -> dict[str, Any]:
        return dict(self._api.volume_snapshots.get(snapshot).to_dict())

    def volumes(self) -> list[dict[str, Any]]:
        return [volume.to_dict() for volume in self._api.volumes.list()]

    def delete(self, volume: str) -> None:
        self._api.volumes.delete(volume)

    def delete_snapshot(self, snapshot: str) -> None:
        self._api.volume_snapshots.delete(snapshot)

    def create_type(self, name: str) -> str:
        return str(self._api.volume_types.create(name).id)

    def types(self) -> set[str]:
        return {one.name for one in self._api.volume_types.list()}

    def delete_type(self, id: str) -> None:
        self._api.volume_types.delete(id)

    def services(self) -> dict[str, str]:
        return {service.binary: service.state for service in self._api.services.list()}

    def quota(self, project: str) -> int:
        return int(self._api.quotas.get(project).volumes)


class Sdk:
    def __init__(self, pumice: Pumice, who: str, version: str) -> None:
        self._api = pumice.sdk(who, version)

    def create(self, **wanted: Any) -> str:
        renamed = {"source_volid": "source_volume_id"}
        given = {renamed.get(name, name): value for name, value in wanted.items()}
        return str(self._api.create_volume(**given).id)

    def snapshot(self, volume: str) -> str:
        return str(self._api.create_snapshot(volume_id=volume).id)

    def extend(self, volume: str, size: int) -> None:
        self._api.extend_volume(volume, size)

    def rename(self, volume: str, name: str) -> None:
        self._api.update_volume(volume, name=name)

    def show(self, volume: str) -> dict[str, Any]:
        return dict(self._api.get_volume(volume))

    def show_snapshot(self, snapshot: str) -> dict[str, Any]:
        return dict(self._api.get_snapshot(snapshot))

    def volumes(self) -> list[dict[str, Any]]:
        return [dict(volume) for volume in self._api.volumes()]

    def delete(self, volume: str) -> None:
        self._api.delete_volume(volume, ignore_missing=False)

    def delete_snapshot(self, snapshot: str) -> None:
        self._api.delete_snapshot(snapshot, ignore_missing=False)

    def create_type(self, name: str) -> str:
        return str(self._api.create_type(name=name).id)

    def types(self) -> set[str]:
        return {one.name for one in self._api.types()}

    def delete_type(self, id: str) -> None:
        self._api.delete_type(id, ignore_missing=False)

    def services(self) -> dict[str, str]:
        return {service.binary: service.state for service in self._api.services()}

    def quota(self, project: str) -> int:
        return int(self._api.get_quota_set(project).volumes)


LIBRARIES: tuple[Callable[[Pumice, str, str], Client], ...] = (Cinder, Sdk)
everywhere = pytest.mark.parametrize(("library", "version"), list(itertools.product(LIBRARIES, ("3.0", "3.71"))))


def rests(show: Callable[[str], dict[str, Any]], id: str) -> str:
    """The status that a thing comes to rest in; "gone" when it is no more."""
    end = time.monotonic() + 60
    while True:
        try:
            status = str(show(id)["status"])
        except ABSENT:
            return "gone"
        if not status.endswith("ing"):
            return status
        assert time.monotonic() < end, f"{id} is still {status}"
        time.sleep(0.05)


@everywhere
@pytest.mark.parametrize("who", ["admin", "demo"])
def test_a_volumes_life(pumice: Pumice, library: Any, version: str, who: str) -> None:
    client: Client = library(pumice, who, version)
    volume = client.create(size=1, name="first")
    assert rests(client.show, volume) == "available"
    snapshot = client.snapshot(volume)
    assert rests(client.show_snapshot, snapshot) == "available"
    copies = [client.create(snapshot_id=snapshot), client.create(size=2, source_volid=volume)]
    assert [rests(client.show, copy) for copy in copies] == ["available"] * 2
    client.extend(volume, 3)
    assert rests(client.show, volume) == "available"
    client.rename(volume, "second")

    listed = {one["id"]: (one["name"], one["size"]) for one in client.volumes()}
    assert listed == {volume: ("second", 3), copies[0]: (None, 1), copies[1]: (None, 2)}
    assert client.show(copies[0])["snapshot_id"] == snapshot

    client.delete_snapshot(snapshot)
    assert rests(client.show_snapshot, snapshot) == "gone"
    for one in listed:
        client.delete(one)
    assert {rests(client.show, one) for one in listed} == {"gone"}
    assert client.volumes() == []


@everywhere
def test_what_is_for_administrators(pumice: Pumice, library: Any, version: str) -> None:
    admin, demo = library(pumice, "admin", version), library(pumice, "demo", version)
    made = admin.create_type("fast")
    assert {"fast", "__DEFAULT__"} == admin.types() == demo.types()
    volume = demo.create(size=1, volume_type="fast")
    assert rests(demo.show, volume) == "available"
    assert demo.show(volume)["volume_type"] == "fast"
    demo.delete(volume)
    assert rests(demo.show, volume) == "gone"
    assert admin.services() == {"cinder-volume": "up", "cinder-scheduler": "up"}
    for refused in (lambda: demo.create_type("mine"), demo.services, lambda: demo.delete_type(made)):
        with pytest.raises(DENIED):
            refused()
    assert admin.quota(pumice.project_id("demo")) == demo.quota(pumice.project_id("demo")) == 10
    admin.delete_type(made)
    assert demo.types() == {"__DEFAULT__"}


@everywhere
def test_a_stranger_sees_nothing(pumice: Pumice, library: Any, version: str) -> None:
    demo, stranger = library(pumice, "demo", version), library(pumice, "stranger", version)
    volume = demo.create(size=1)
    assert rests(demo.show, volume) == "available"
    snapshot = demo.snapshot(volume)
    assert rests(demo.show_snapshot, snapshot) == "available"
    assert stranger.volumes() == []
    for refused in (
        lambda: stranger.show(volume),
        lambda: stranger.show_snapshot(snapshot),
        lambda: stranger.extend(volume, 2),
        lambda: stranger.rename(volume, "mine"),
        lambda: stranger.delete(volume),
        lambda: stranger.delete_snapshot(snapshot),
        lambda: stranger.snapshot(volume),
        lambda: stranger.create(snapshot_id=snapshot),
        lambda: stranger.create(source_volid=volume),
    ):
        with pytest.raises(ABSENT):
            refused()
    with pytest.raises(DENIED):
        stranger.quota(pumice.project_id("demo"))
    assert demo.show(volume)["size"] == 1


def test_attachments_through_both_libraries(pumice: Pumice) -> None:
    connector = {"initiator": "iqn.2026-01.org.example:here", "host": "here"}
    cinder, oldest, sdk = pumice.cinder("demo"), pumice.cinder("demo", "3.27"), pumice.sdk("demo")
    volume = oldest.volumes.create(1)
    assert rests(lambda id: oldest.volumes.get(id).to_dict(), volume.id) == "available"

    reserved = sdk.create_attachment(volume.id)
    assert (reserved.status, reserved.connection_info) == ("reserved", {})
    connected = oldest.attachments.update(reserved.id, connector)
    assert connected.connection_info["target_iqn"] in pumice.targets()
    cinder.attachments.complete(reserved.id)
    [shown] = [one for one in sdk.attachments() if one.id == reserved.id]
    assert (shown.status, shown.volume_id) == ("attached", volume.id)
    assert cinder.volumes.get(volume.id).attachments[0]["attachment_id"] == reserved.id

    stranger = pumice.cinder("stranger")
    assert stranger.attachments.list() == []
    for refused in (stranger.attachments.show, stranger.attachments.delete, stranger.attachments.complete):
        with pytest.raises(cinderclient.exceptions.NotFound):
            refused(reserved.id)
    with pytest.raises(cinderclient.exceptions.NotFound):
        stranger.attachments.create(volume.id, connector)

    sdk.delete_attachment(reserved.id)
    assert pumice.targets() == ""
