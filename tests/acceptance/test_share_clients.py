"""The same calls through python-manilaclient and openstacksdk, at old versions of the API and the newest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import manilaclient.exceptions
import openstack.exceptions
import pytest

from tests.acceptance.running import Pumice, ShareMember
from tests.support.waiting import eventually

pytestmark = pytest.mark.real

DENIED = (manilaclient.exceptions.Forbidden, openstack.exceptions.ForbiddenException)
ABSENT = (manilaclient.exceptions.NotFound, openstack.exceptions.NotFoundException)
CAPABLE = {
    "snapshot_support": "True",
    "create_share_from_snapshot_support": "True",
    "revert_to_snapshot_support": "True",
}


class Client(Protocol):
    """What the two libraries can do, under one name each; things are dicts or named by their id."""

    def create(self, **wanted: Any) -> str: ...

    def snapshot(self, share: str) -> str: ...

    def allow(self, share: str, address: str) -> str: ...

    def rules(self, share: str) -> dict[str, str]: ...

    def deny(self, share: str, rule: str) -> None: ...

    def locations(self, share: str) -> list[str]: ...

    def revert(self, share: str, snapshot: str) -> None: ...

    def extend(self, share: str, size: int) -> None: ...

    def shrink(self, share: str, size: int) -> None: ...

    def rename(self, share: str, name: str) -> None: ...

    def label(self, share: str, **labels: str) -> dict[str, str]: ...

    def show(self, share: str) -> dict[str, Any]: ...

    def shares(self) -> list[dict[str, Any]]: ...

    def delete(self, share: str) -> None: ...

    def delete_snapshot(self, snapshot: str) -> None: ...

    def create_type(self, name: str) -> str: ...

    def types(self) -> set[str]: ...

    def delete_type(self, id: str) -> None: ...

    def services(self) -> dict[str, str]: ...

    def pools(self) -> list[str]: ...

    def quota(self, project: str) -> int: ...


class Manila:
    def __init__(self, pumice: Pumice, who: str, version: str) -> None:
        self._api = pumice.manila(who, version)
        # The library asks for the rules of a share elsewhere from 2.45 on.
        self._rules = self._api.shares if version < "2.45" else self._api.share_access_rules

    def create(self, **wanted: Any) -> str:
        return str(self._api.shares.create(**wanted).id)

    def snapshot(self, share: str) -> str:
        return str(self._api.share_snapshots.create(share).id)

    def allow(self, share: str, address: str) -> str:
        return str(self._api.shares.allow(share, "ip", address, "rw")["id"])

    def rules(self, share: str) -> dict[str, str]:
        return {rule.access_to: rule.state for rule in self._rules.access_list(share)}

    def deny(self, share: str, rule: str) -> None:
        self._api.shares.deny(share, rule)

    def locations(self, share: str) -> list[str]:
        return [location.path for location in self._api.share_export_locations.list(share)]

    def revert(self, share: str, snapshot: str) -> None:
        self._api.shares.revert_to_snapshot(share, snapshot)

    def extend(self, share: str, size: int) -> None:
        self._api.shares.extend(share, size)

    def shrink(self, share: str, size: int) -> None:
        self._api.shares.shrink(share, size)

    def rename(self, share: str, name: str) -> None:
        self._api.shares.update(share, display_name=name)

    def label(self, share: str, **labels: str) -> dict[str, str]:
        self._api.shares.set_metadata(share, labels)
        return dict(self._api.shares.get(share).metadata)

    def show(self, share: str) -> dict[str, Any]:
        return dict(self._api.shares.get(share).to_dict())

    def shares(self) -> list[dict[str, Any]]:
        return [share.to_dict() for share in self._api.shares.list()]

    def delete(self, share: str) -> None:
        self._api.shares.delete(share)

    def delete_snapshot(self, snapshot: str) -> None:
        self._api.share_snapshots.delete(snapshot)

    def create_type(self, name: str) -> str:
        return str(self._api.share_types.create(name, False, extra_specs=dict(CAPABLE)).id)

    def types(self) -> set[str]:
        return {one.name for one in self._api.share_types.list()}

    def delete_type(self, id: str) -> None:
        self._api.share_types.delete(id)

    def services(self) -> dict[str, str]:
        return {service.binary: service.state for service in self._api.services.list()}

    def pools(self) -> list[str]:
        return [pool.name for pool in self._api.pools.list()]

    def quota(self, project: str) -> int:
        return int(self._api.quotas.get(project).shares)


class Sdk:
    def __init__(self, pumice: Pumice, who: str, version: str) -> None:
        self._api = pumice.share_sdk(who, version)

    def create(self, **wanted: Any) -> str:
        renamed = {"share_proto": "share_protocol"}
        return str(self._api.create_share(**{renamed.get(name, name): value for name, value in wanted.items()}).id)

    def snapshot(self, share: str) -> str:
        return str(self._api.create_share_snapshot(share_id=share).id)

    def allow(self, share: str, address: str) -> str:
        rule = self._api.create_access_rule(share, access_type="ip", access_to=address, access_level="rw")
        return str(rule.id)

    def rules(self, share: str) -> dict[str, str]:
        return {rule.access_to: rule.state for rule in self._api.access_rules(share)}

    def deny(self, share: str, rule: str) -> None:
        self._api.delete_access_rule(rule, share, ignore_missing=False)

    def locations(self, share: str) -> list[str]:
        return [location.path for location in self._api.export_locations(share)]

    def revert(self, share: str, snapshot: str) -> None:
        self._api.revert_share_to_snapshot(share, snapshot)

    def extend(self, share: str, size: int) -> None:
        self._api.resize_share(share, size, no_shrink=True)

    def shrink(self, share: str, size: int) -> None:
        self._api.resize_share(share, size, no_extend=True)

    def rename(self, share: str, name: str) -> None:
        self._api.update_share(share, name=name)

    def label(self, share: str, **labels: str) -> dict[str, str]:
        self._api.set_share_metadata(share, **labels)
        return dict(self._api.fetch_share_metadata(share).metadata)

    def show(self, share: str) -> dict[str, Any]:
        return dict(self._api.get_share(share))

    def shares(self) -> list[dict[str, Any]]:
        return [dict(share) for share in self._api.shares()]

    def delete(self, share: str) -> None:
        self._api.delete_share(share, ignore_missing=False)

    def delete_snapshot(self, snapshot: str) -> None:
        self._api.delete_share_snapshot(snapshot, ignore_missing=False)

    def create_type(self, name: str) -> str:
        specs = {"driver_handles_share_servers": "False"} | CAPABLE
        return str(self._api.create_share_type(name, extra_specs=specs).id)

    def types(self) -> set[str]:
        return {one.name for one in self._api.share_types()}

    def delete_type(self, id: str) -> None:
        self._api.delete_share_type(id, ignore_missing=False)

    def services(self) -> dict[str, str]:
        return {service.binary: service.state for service in self._api.services()}

    def pools(self) -> list[str]:
        return [pool.name for pool in self._api.storage_pools()]

    def quota(self, project: str) -> int:
        return int(self._api.get_quota_set(project).shares)


WITH_RULES = [(Manila, "2.27"), (Manila, "2.98"), (Sdk, "2.45"), (Sdk, "2.99")]
everywhere = pytest.mark.parametrize(("library", "version"), WITH_RULES)


@everywhere
@pytest.mark.parametrize("who", ["admin", "demo"])
def test_a_shares_life(pumice: Pumice, library: Callable[..., Client], version: str, who: str) -> None:
    client, person = library(pumice, who, version), ShareMember(pumice, who)
    share = client.create(share_proto="NFS", size=1, name="first", metadata={"for": "tests"})
    person.rests("share", share, "available")
    rule = client.allow(share, "127.0.0.1")
    eventually(lambda: client.rules(share) == {"127.0.0.1": "active"})
    [location] = client.locations(share)
    assert location.startswith("127.0.0.1:/")
    snapshot = client.snapshot(share)
    person.rests("snapshot", snapshot, "available")
    copy = client.create(share_proto="NFS", size=1, snapshot_id=snapshot)
    person.rests("share", copy, "available")
    for change in (
        lambda: client.revert(share, snapshot),
        lambda: client.extend(share, 3),
        lambda: client.shrink(share, 2),
    ):
        change()
        person.rests("share", share, "available")
    client.rename(share, "second")
    assert client.label(share, more="yes") == {"for": "tests", "more": "yes"}

    listed = {one["id"]: (one["name"], one["size"]) for one in client.shares()}
    assert listed == {share: ("second", 2), copy: (None, 1)}
    assert client.show(copy)["snapshot_id"] == snapshot

    client.deny(share, rule)
    eventually(lambda: client.rules(share) == {})
    with pytest.raises(DENIED):
        client.delete(share)
    client.delete_snapshot(snapshot)
    person.rests("snapshot", snapshot, "gone")
    for one in listed:
        client.delete(one)
        person.rests("share", one, "gone")
    with pytest.raises(ABSENT):
        client.show(share)


@everywhere
def test_what_is_for_administrators(pumice: Pumice, library: Callable[..., Client], version: str) -> None:
    admin, demo = library(pumice, "admin", version), library(pumice, "demo", version)
    made = admin.create_type("fast")
    assert {"fast", "default"} == admin.types() == demo.types()
    assert admin.services() == {"manila-share": "up", "manila-scheduler": "up"}
    assert admin.pools() == ["pumice@btrfs#btrfs"]
    for refused in (lambda: demo.create_type("mine"), demo.services, demo.pools, lambda: demo.delete_type(made)):
        with pytest.raises(DENIED):
            refused()
    assert admin.quota(pumice.project_id("demo")) == demo.quota(pumice.project_id("demo")) == 50
    admin.delete_type(made)
    assert demo.types() == {"default"}


@everywhere
def test_a_stranger_sees_nothing(
    pumice: Pumice, library: Callable[..., Client], version: str, sharer: ShareMember
) -> None:
    stranger = library(pumice, "stranger", version)
    share = sharer.make()
    snapshot = sharer.make("snapshot", share_id=share)
    assert stranger.shares() == []
    for refused in (
        lambda: stranger.show(share),
        lambda: stranger.extend(share, 2),
        lambda: stranger.rename(share, "mine"),
        lambda: stranger.allow(share, "127.0.0.1"),
        lambda: stranger.delete(share),
        lambda: stranger.delete_snapshot(snapshot),
        lambda: stranger.snapshot(share),
        lambda: stranger.create(share_proto="NFS", size=1, snapshot_id=snapshot),
    ):
        with pytest.raises(ABSENT):
            refused()
    with pytest.raises(DENIED):
        stranger.locations(share)


def test_the_oldest_version(pumice: Pumice, sharer: ShareMember) -> None:
    oldest = pumice.manila("demo", "2.0")
    share = oldest.shares.create("NFS", 1, name="old")
    sharer.rests("share", share.id, "available")
    shown = oldest.shares.get(share.id)
    assert (shown.name, shown.export_location.split(":")[0]) == ("old", "127.0.0.1")
    oldest.shares.delete(share)
    sharer.rests("share", share.id, "gone")
