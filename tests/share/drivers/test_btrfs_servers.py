"""The btrfs driver with the real file servers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pumice.kernel.drivers import BackendError
from pumice.share.drivers import subvolumes
from pumice.share.drivers.base import Rule
from pumice.share.drivers.btrfs import BtrfsDriver
from pumice.share.drivers.mounts import unmount_below
from pumice.share.exports.ganesha_server import GaneshaServer
from pumice.share.exports.samba_server import SambaServer
from tests.share.drivers.conftest import share, snapshot
from tests.support.ganesha import NfsClient, ganesha_server
from tests.support.loopfs import loop_filesystem
from tests.support.samba import add_user, samba_server, smbclient
from tests.support.sections import section
from tests.support.shareservice import Shares

pytestmark = pytest.mark.real

USER = "games"
ME, USERS = Rule("me", "ip", "127.0.0.1"), Rule("games", "user", USER)
MIB = 1024**2


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    state = tmp_path_factory.mktemp("state")
    for directory in (state, state.parent, state.parent.parent):
        directory.chmod(0o711)
    return state


@pytest.fixture(scope="module")
def pool(state: Path) -> Iterator[Path]:
    with loop_filesystem("btrfs", state) as root:
        yield root


@pytest.fixture(scope="module")
def nfs(state: Path) -> Iterator[GaneshaServer]:
    with ganesha_server(state) as server:
        yield server


@pytest.fixture(scope="module")
def smb(state: Path) -> Iterator[SambaServer]:
    with samba_server(state) as server:
        add_user(server, USER)
        yield server


@pytest.fixture(scope="module")
def servers(state: Path, nfs: GaneshaServer, smb: SambaServer) -> dict[str, Any]:
    """Options of a backend that exports by these."""
    return {
        "export_protocols": ["NFS", "CIFS"],
        "ganesha_bus": nfs.bus,
        "ganesha_directory": str(state / "ganesha" / "exports"),
        "nfs_port": nfs.port,
        "smb_port": smb.port,
        "samba_configuration": str(smb.configuration),
        "mounts_directory": str(state / "mounts"),
    }


@pytest.fixture(scope="module")
def driver(
    state: Path, pool: Path, nfs: GaneshaServer, smb: SambaServer, servers: dict[str, Any]
) -> Iterator[BtrfsDriver]:
    options = section(BtrfsDriver, directory=str(pool / "direct"), **servers)
    driver = BtrfsDriver(options, name="pool", state_dir=state)
    driver.start()
    yield driver
    driver.stop()
    nfs.stop()
    smb.stop()
    unmount_below(state / "mounts")


@pytest.mark.parametrize("version", [3, 4])
def test_a_share_over_nfs(driver: BtrfsDriver, nfs: GaneshaServer, pool: Path, tmp_path: Path, version: int) -> None:
    client = NfsClient(nfs, version)
    new = share()
    [location] = driver.create_share(new)
    path = location.path.partition(":")[2]
    with pytest.raises(PermissionError):
        client.names(path)
    assert driver.apply_access(new, [ME])["me"].error is None
    client.write(f"{path}/file", "before", tmp_path)
    assert (pool / "direct" / "shares" / new.id / "file").read_text() == "before"

    point = snapshot(new)
    driver.create_snapshot(point)
    client.write(f"{path}/more", "after", tmp_path)
    [old] = driver.export_snapshot(point)
    driver.apply_snapshot_access(point, [ME])
    old_path = old.path.partition(":")[2]
    assert client.names(old_path) == ["file"]
    assert client.read(f"{old_path}/file") == "before"
    with pytest.raises(PermissionError):
        client.write(f"{old_path}/new", "no", tmp_path)

    assert driver.inventory().exports == {new.id: {"ip 127.0.0.1 rw"}, point.id: {"ip 127.0.0.1 ro"}}
    driver.revert_to_snapshot(new, point)
    assert client.names(path) == ["file"]
    assert driver.inventory().exports[new.id] == {"ip 127.0.0.1 rw"}

    driver.delete_snapshot(point)
    driver.delete_share(new)
    with pytest.raises(PermissionError):
        client.names(path)
    assert driver.inventory().exports == {}


def test_writes_over_nfs_end_at_the_size(driver: BtrfsDriver, nfs: GaneshaServer, pool: Path, tmp_path: Path) -> None:
    client = NfsClient(nfs, 3)
    new = share()
    [location] = driver.create_share(new)
    driver.apply_access(new, [ME])
    subvolumes.limit(pool / "direct" / "shares" / new.id, 8 * MIB)
    text = os.urandom(8 * MIB).hex()
    with pytest.raises(PermissionError, match="Failed to write"):
        client.write(f"{location.path.partition(':')[2]}/file", text, tmp_path)
    assert (pool / "direct" / "shares" / new.id / "file").stat().st_size < 9 * MIB
    driver.delete_share(new)


def test_a_share_over_smb(driver: BtrfsDriver, smb: SambaServer, pool: Path) -> None:
    new = share(proto="CIFS", mount_point_name="projects")
    [location] = driver.create_share(new)
    assert location.path == r"\\127.0.0.1\projects"
    assert {id: one.error for id, one in driver.apply_access(new, [USERS]).items()} == {"games": None}
    with pytest.raises(PermissionError):
        smbclient(smb, "projects", "ls")
    smbclient(smb, "projects", "put /etc/hostname name", USER)
    point = snapshot(new)
    driver.create_snapshot(point)
    smbclient(smb, "projects", "del name", USER)
    driver.revert_to_snapshot(new, point)
    assert "name" in smbclient(smb, "projects", "ls", USER)
    assert driver.inventory().exports == {new.id: {"user games rw"}}
    driver.delete_snapshot(point)
    driver.delete_share(new)
    assert driver.inventory().exports == {}


def test_a_way_that_is_closed_to_users_is_named(driver: BtrfsDriver, state: Path) -> None:
    state.chmod(0o700)
    new = share(proto="CIFS")
    with pytest.raises(BackendError, match=f"Samba's users cannot pass {state}"):
        driver.create_share(new)
    state.chmod(0o711)
    driver.create_share(new)
    driver.delete_share(new)


def test_exports_outlive_the_server_and_the_mounts(
    driver: BtrfsDriver, nfs: GaneshaServer, state: Path, tmp_path: Path
) -> None:
    client = NfsClient(nfs, 3)
    new = share()
    [location] = driver.create_share(new)
    path = location.path.partition(":")[2]
    driver.apply_access(new, [ME])
    client.write(f"{path}/file", "kept", tmp_path)
    nfs.restart()
    assert client.read(f"{path}/file") == "kept"
    nfs.stop()
    unmount_below(state / "mounts")
    nfs.start()
    assert new.id not in driver.inventory().exports
    assert driver.ensure_share(new) == [location]
    driver.apply_access(new, [ME])
    assert client.read(f"{path}/file") == "kept"
    driver.delete_share(new)


def test_ganesha_takes_no_subvolume_that_is_not_mounted(nfs: GaneshaServer, pool: Path) -> None:
    subvolumes.create(pool / "bare")
    exporter = nfs.exporter()
    with pytest.raises(BackendError, match="refused AddExport"):
        exporter.export("bare", pool / "bare", "bare")
    exporter.unexport("bare")


def test_through_the_api(
    driver: BtrfsDriver, nfs: GaneshaServer, servers: dict[str, Any], pool: Path, tmp_path: Path
) -> None:
    """The servers have exports of another backend too."""
    client = NfsClient(nfs, 3)
    backend = {"share_driver": "btrfs", "directory": str(pool / "served"), **servers}
    elsewhere = share()
    driver.create_share(elsewhere)
    with Shares(tmp_path, {"gold": backend}) as service:

        def allow(id: str) -> None:
            rule = {"access_type": "ip", "access_to": "127.0.0.1"}
            made = service.act(id, "allow_access", rule, status=200)["access"]["id"]
            assert service.rest(f"/share-access-rules/{made}", key="state") == "active"

        id = service.share()
        path = service.ok("GET", f"/shares/{id}/export_locations")["export_locations"][0]["path"].partition(":")[2]
        allow(id)
        client.write(f"{path}/file", "before", tmp_path)
        point = service.ok("POST", "/snapshots", {"snapshot": {"share_id": id}}, status=202)["snapshot"]["id"]
        assert service.rest(f"/snapshots/{point}") == "available"
        client.write(f"{path}/more", "after", tmp_path)
        service.act(id, "revert", {"snapshot_id": point})
        assert service.rest(f"/shares/{id}") == "available"
        assert client.names(path) == ["file"]
        copy = service.share(snapshot_id=point, size=2)
        allow(copy)
        service.act(id, "extend", {"new_size": 3})
        assert service.rest(f"/shares/{id}") == "available"
        service.act(id, "shrink", {"new_size": 1})
        assert service.rest(f"/shares/{id}") == "available"
        assert service.all_wrong() == []
        cifs = service.share(share_proto="CIFS")
        for each in (cifs, copy):
            service.ok("DELETE", f"/shares/{each}", status=202)
            assert service.rest(f"/shares/{each}") == "gone"
        service.ok("DELETE", f"/snapshots/{point}", status=202)
        assert service.rest(f"/snapshots/{point}") == "gone"
        service.act(id, "unmanage", who="admin_a")
        assert service.rest(f"/shares/{id}") == "gone"
        assert service.all_wrong() == []
        managed = {"protocol": "NFS", "export_path": path, "service_host": "here@gold#gold", "share_type": "default"}
        again = service.ok("POST", "/shares/manage", {"share": managed}, who="admin_a")["share"]["id"]
        assert service.rest(f"/shares/{again}") == "available"
        assert service.all_wrong() == []
        service.ok("DELETE", f"/shares/{again}", status=202, who="admin_a")
        assert service.rest(f"/shares/{again}") == "gone"
        assert service.all_wrong() == []
    assert driver.inventory().shares == {elsewhere.id}
    driver.delete_share(elsewhere)
