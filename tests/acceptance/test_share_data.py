"""Shares made by the `openstack` command, used by clients of NFS (libnfs) and SMB (smbclient)."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from pumice.standalone.directory import DataDirectory
from pumice.standalone.shares import FileServers
from tests.acceptance.running import Pumice, ShareMember
from tests.support.ganesha import NfsClient
from tests.support.samba import add_user, smbclient
from tests.support.waiting import eventually

pytestmark = pytest.mark.real

MIB = 1024**2
LARGE = b"." * 16 * MIB
JSON = ("-f", "json")
USER = "games"  # of any Debian system


class Client(Protocol):
    """Reads files of the share at an export location, and writes new ones; raises PermissionError where it may not.

    `who` is the type and the object of the access rule that lets it.
    """

    protocol: str
    who: tuple[str, str]

    def read(self, location: str, name: str) -> bytes: ...

    def write(self, location: str, name: str, content: bytes) -> None: ...


class Nfs:
    protocol = "NFS"
    who = ("ip", "127.0.0.1")

    def __init__(self, servers: FileServers, version: int, directory: Path) -> None:
        self._client = NfsClient(servers.nfs, version)
        self._old = NfsClient(servers.nfs, 3)
        self._directory = directory

    def read(self, location: str, name: str) -> bytes:
        return self._client.read(f"{location.partition(':')[2]}/{name}").encode()

    def write(self, location: str, name: str, content: bytes) -> None:
        client = self._client if len(content) < 4000 else self._old  # libnfs fails at larger ones over NFSv4
        client.write(f"{location.partition(':')[2]}/{name}", content.decode(), self._directory)


class Smb:
    protocol = "CIFS"

    def __init__(self, servers: FileServers, user: str | None, directory: Path) -> None:
        self._server, self._user, self._file = servers.smb, user, directory / "file"
        self.who = ("user", user) if user else ("ip", "127.0.0.1")

    def read(self, location: str, name: str) -> bytes:
        self._ask(location, f"get {name} {self._file}")
        return self._file.read_bytes()

    def write(self, location: str, name: str, content: bytes) -> None:
        self._file.write_bytes(content)
        self._ask(location, f"put {self._file} {name}")

    def _ask(self, location: str, command: str) -> None:
        smbclient(self._server, location.rpartition("\\")[2], command, self._user)


@pytest.fixture
def servers(pumice: Pumice) -> FileServers:
    return FileServers(DataDirectory(pumice.data), "127.0.0.1")


@pytest.fixture(params=["nfs 3", "nfs 4", "smb", "smb user"])
def client(request: pytest.FixtureRequest, servers: FileServers, tmp_path: Path) -> Client:
    if request.param.startswith("nfs"):
        return Nfs(servers, int(request.param[-1]), tmp_path)
    add_user(servers.smb, USER)
    return Smb(servers, USER if request.param.endswith("user") else None, tmp_path)


def test_what_rules_let_a_client_do(pumice: Pumice, sharer: ShareMember, servers: FileServers, client: Client) -> None:
    def share(*words: str) -> Any:
        return pumice.openstack("share", *words, cloud="pumice-demo")

    def allow(*words: str) -> Any:
        """Allow the client that; back when it is in force."""
        rule = share("access", "create", "data", *client.who, *words, *JSON)["id"]
        eventually(lambda: share("access", "show", rule, *JSON)["state"] == "active")
        return rule

    def deny(rule: str) -> None:
        share("access", "delete", "data", rule)
        eventually(lambda: rule not in [one["ID"] for one in share("access", "list", "data", *JSON)])

    id = share("create", "--name=data", client.protocol, "1", *JSON)["id"]
    sharer.rests("share", id, "available")
    [place] = [one["Path"] for one in share("export", "location", "list", "data", *JSON)]
    refused(lambda: client.write(place, "file", b"old"))
    stranger = share("access", "create", "data", "ip", "10.1.2.3", *JSON)["id"]
    eventually(lambda: share("access", "show", stranger, *JSON)["state"] == "active")
    refused(lambda: client.write(place, "file", b"old"))
    deny(stranger)

    rule = allow()
    client.write(place, "file", b"old")
    assert client.read(place, "file") == b"old"
    snapshot = share("snapshot", "create", "data", "--name=old", *JSON)["id"]
    sharer.rests("snapshot", snapshot, "available")
    client.write(place, "later", LARGE)
    assert client.read(place, "later") == LARGE

    [past] = [one["Path"] for one in share("snapshot", "export", "location", "list", "old", *JSON)]
    refused(lambda: client.read(past, "file"))
    share("snapshot", "access", "create", "old", *client.who)
    eventually(lambda: share("snapshot", "access", "list", "old", *JSON)[0]["State"] == "active")
    assert client.read(past, "file") == b"old"
    refused(lambda: client.read(past, "later"))
    refused(lambda: client.write(past, "other", b"other"))

    fill(servers.mounts / "btrfs" / place[-36:])
    refused(lambda: client.write(place, "more", LARGE), "write to dest file|DISK_FULL")
    share("revert", "old")
    sharer.rests("share", id, "available")
    assert client.read(place, "file") == b"old"
    refused(lambda: client.read(place, "later"))

    deny(rule)
    refused(lambda: client.read(place, "file"))
    rule = allow("--access-level=ro")
    assert client.read(place, "file") == b"old"
    refused(lambda: client.write(place, "other", b"other"))


@pytest.mark.parametrize("client", ["nfs 3", "smb user"], indirect=True)
def test_a_share_is_served_again_when_servers_and_pumice_were_killed(
    pumice: Pumice, sharer: ShareMember, client: Client
) -> None:
    share = sharer.make(share_proto=client.protocol)
    kind, to = client.who
    rule = sharer.act(share, "allow_access", {"access_type": kind, "access_to": to, "access_level": "rw"})["access"][
        "id"
    ]
    place = sharer.location(f"/shares/{share}/export_locations")
    eventually(lambda: works(lambda: client.write(place, "file", b"kept")))

    before = server(pumice, client.protocol)
    os.kill(before, signal.SIGKILL)
    eventually(lambda: server(pumice, client.protocol) != before and works(lambda: client.read(place, "file")))
    pumice.end(signal.SIGKILL)
    assert client.read(place, "file") == b"kept"
    pumice.start()
    assert client.read(place, "file") == b"kept"
    sharer.act(share, "deny_access", {"access_id": rule})
    eventually(lambda: not works(lambda: client.read(place, "file")))


def works(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except PermissionError:
        return False
    return True


def server(pumice: Pumice, protocol: str) -> int:
    """The process that serves it."""
    record = pumice.data / "servers" / ("ganesha/ganesha.json" if protocol == "NFS" else "samba/smbd.json")
    return int(json.loads(record.read_text())["pid"]) if record.exists() else 0


def refused(attempt: Callable[[], object], why: str | None = None) -> None:
    with pytest.raises(PermissionError, match=why):
        attempt()


def fill(share: Path) -> None:
    """Leave a share of 1 GiB next to no room."""
    with (share / "ballast").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 1000 * MIB)
