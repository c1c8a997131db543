"""Shares of the btrfs backend, from the API to the machines that mount them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pumice.share.drivers.mounts import unmount_below
from tests.support.ganesha import ganesha_server
from tests.support.guest import Guest, GuestError, Network
from tests.support.loopfs import loop_filesystem
from tests.support.mounting import NFS_3, NFS_4_1, exercise, smb
from tests.support.samba import open_directory, samba_server
from tests.support.shareservice import Shares
from tests.support.waiting import eventually

pytestmark = [pytest.mark.real, pytest.mark.slow]

MIB = 1024**2


@dataclass
class Site:
    """A share service with both file servers, and two machines of their network."""

    service: Shares
    guest: Guest
    stranger: Guest
    state: Path
    rules: dict[tuple[str, str], str] = field(default_factory=dict)

    def allow(self, share: str, address: str, level: str) -> None:
        """Allow it the level from now on; back once that is in force."""
        if rule := self.rules.get((share, address)):
            body = {"update_access": {"access_level": level}}
            self.service.ok("PUT", f"/share-access-rules/{rule}", body)
        else:
            wanted = {"access_type": "ip", "access_to": address, "access_level": level}
            rule = self.service.act(share, "allow_access", wanted, status=200)["access"]["id"]
            self.rules[share, address] = rule
        assert self.service.rest(f"/share-access-rules/{rule}", key="state") == "active"

    def deny(self, share: str, address: str) -> None:
        rule = self.rules.pop((share, address))
        self.service.act(share, "deny_access", {"access_id": rule})
        assert self.service.rest(f"/share-access-rules/{rule}", key="state") == "gone"

    def location(self, path: str) -> str:
        """Where a share, or a snapshot, is mounted from."""
        [[one]] = self.service.ok("GET", path).values()
        place: str = one["path"]
        return place

    def delete(self, path: str) -> None:
        self.service.ok("DELETE", path, status=202)
        assert self.service.rest(path) == "gone"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with ExitStack() as stack:
        state = stack.enter_context(open_directory())
        pool = stack.enter_context(loop_filesystem("btrfs", state, 4096))
        network = stack.enter_context(Network())
        stack.callback(lambda: unmount_below(state / "mounts"))
        nfs = stack.enter_context(ganesha_server(state, network))
        cifs = stack.enter_context(samba_server(state, network))
        backend = {
            "share_driver": "btrfs",
            "directory": str(pool),
            "share_root_mode": "0777",
            "export_protocols": ["NFS", "CIFS"],
            "nfs_address": nfs.host,
            "ganesha_bus": nfs.bus,
            "smb_address": cifs.host,
            "samba_configuration": str(cifs.configuration),
        }
        service = stack.enter_context(Shares(state, {"gold": backend}))
        directory = tmp_path_factory.mktemp("guests")
        guest = stack.enter_context(Guest(network, directory))
        stranger = stack.enter_context(Guest(network, directory, name="stranger"))
        yield Site(service, guest, stranger, state)


ways = pytest.mark.parametrize("way", ["nfs 4.1", "nfs 3", "smb"])


def protocol(way: str) -> str:
    return "CIFS" if way == "smb" else "NFS"


def mounting(way: str, location: str) -> str:
    """The arguments of `mount`."""
    return smb(location) if way == "smb" else f"{NFS_3 if way == 'nfs 3' else NFS_4_1} {location}"


@ways
def test_access_rules_at_two_machines(site: Site, way: str) -> None:
    share = site.service.share(share_proto=protocol(way))
    mount = mounting(way, site.location(f"/shares/{share}/export_locations"))
    exercise(
        site.guest,
        site.stranger,
        mount,
        lambda address, level: site.allow(share, address, level),
        lambda address: site.deny(share, address),
    )
    assert site.service.all_wrong() == []
    site.delete(f"/shares/{share}")
    assert site.service.all_wrong() == []


@ways
def test_a_share_is_full_at_its_size_until_it_grows(site: Site, way: str) -> None:
    share = site.service.share(share_proto=protocol(way))
    mount = mounting(way, site.location(f"/shares/{share}/export_locations"))
    address = site.guest.address.split("/")[0]
    site.allow(share, address, "rw")
    site.guest.run(f"mount {mount} /mnt")
    [mounted] = (site.state / "mounts" / "gold").iterdir()
    with (mounted / "ballast").open("wb") as ballast:
        os.posix_fallocate(ballast.fileno(), 0, 1010 * MIB)
    write = "dd if=/dev/zero of=/mnt/file bs=1M count=32 conv=fsync"
    with pytest.raises(GuestError, match=r"quota exceeded|No space left"):
        site.guest.run(write)
    site.service.act(share, "extend", {"new_size": 2})
    assert site.service.rest(f"/shares/{share}") == "available"
    site.guest.run(f"{write} && umount /mnt")
    site.delete(f"/shares/{share}")
    assert site.service.all_wrong() == []


@ways
def test_the_old_content_in_a_snapshot(site: Site, way: str) -> None:
    share = site.service.share(share_proto=protocol(way))
    address = site.guest.address.split("/")[0]
    site.allow(share, address, "rw")
    mount = mounting(way, site.location(f"/shares/{share}/export_locations"))
    site.guest.run(f"mount {mount} /mnt && echo old > /mnt/file && umount /mnt")
    point = site.service.ok("POST", "/snapshots", {"snapshot": {"share_id": share}}, status=202)["snapshot"]["id"]
    snapshot = f"/snapshots/{point}"
    assert site.service.rest(snapshot) == "available"
    site.guest.run(f"mount {mount} /mnt && echo new > /mnt/file && umount /mnt")

    old = mounting(way, site.location(f"{snapshot}/export-locations"))
    with pytest.raises(GuestError):
        site.guest.run(f"mount {old} /mnt")
    rule = {"allow_access": {"access_type": "ip", "access_to": address}}
    site.service.ok("POST", f"{snapshot}/action", rule, status=202)
    eventually(lambda: states(site, snapshot) == ["active"])
    assert site.guest.run(f"mount {old} /mnt && cat /mnt/file").output == "old\n"
    assert site.guest.run("echo other > /mnt/file && sync /mnt/file", check=False).status
    site.guest.run("umount /mnt")
    with pytest.raises(GuestError):
        site.stranger.run(f"mount {old} /mnt")

    site.service.act(share, "revert", {"snapshot_id": point})
    assert site.service.rest(f"/shares/{share}") == "available"
    assert site.guest.run(f"mount {mount} /mnt && cat /mnt/file && umount /mnt").output == "old\n"
    assert site.service.all_wrong() == []
    site.delete(snapshot)
    site.delete(f"/shares/{share}")
    assert site.service.all_wrong() == []


def states(site: Site, snapshot: str) -> list[str]:
    """Of the snapshot's access rules."""
    [rules] = site.service.ok("GET", f"{snapshot}/access-list").values()
    return [rule["state"] for rule in rules]
