from __future__ import annotations

import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pumice.block.drivers.base import Connector, Export, VolumeRef
from pumice.block.drivers.file import FileDriver
from pumice.block.drivers.tgt import TgtExports
from pumice.block.drivers.tgtd import Code, Mode, Op, Tgtd, TgtdAbsent, TgtdError
from pumice.kernel.drivers import GIB, BackendError
from tests.block.drivers.conftest import MakeDriver, snapshot, volume
from tests.support.iscsi import INITIATOR, qemu_io, size_of, writing
from tests.support.loopfs import loop_filesystem
from tests.support.tgtd import TgtdServer
from tests.support.waiting import LONG, eventually

pytestmark = pytest.mark.real


def export_of(of: VolumeRef, read_only: bool = False, **facts: Any) -> Export:
    connector = Connector(facts or {"initiator": INITIATOR, "host": "here"})
    return Export(str(uuid.uuid4()), of, connector, read_only)


def works(connection: Mapping[str, Any], *commands: str, **options: Any) -> bool:
    done = qemu_io(connection, *(commands or ("read 0 512",)), **options)
    return not done.returncode and "failed" not in done.stdout + done.stderr


@pytest.fixture
def driver(make_driver: MakeDriver, tgtd: TgtdServer) -> FileDriver:
    return make_driver(**tgtd.options)


@pytest.fixture
def disk(driver: FileDriver) -> VolumeRef:
    new = volume()
    driver.create_volume(new)
    return new


def test_the_connection(driver: FileDriver, disk: VolumeRef, tgtd: TgtdServer) -> None:
    export = export_of(disk)
    connection = driver.connect(export)
    data = dict(connection["data"])
    assert connection["driver_volume_type"] == "iscsi"
    assert len(data.pop("auth_username")) == 24
    assert len(data.pop("auth_password")) == 32
    assert data == {
        "target_discovered": False,
        "target_portal": f"127.0.0.1:{tgtd.port}",
        "target_iqn": f"iqn.2026-11.org.pumice:volume-{disk.id}.{export.id}",
        "target_lun": 1,
        "volume_id": disk.id,
        "auth_method": "CHAP",
    }
    assert works(connection, "write -P 0x5a 1M 64k", "flush", "read -P 0x5a 1M 64k")
    assert driver.inventory().exports == {export.id}


def test_everyone_else_is_refused(driver: FileDriver, disk: VolumeRef) -> None:
    connection = driver.connect(export_of(disk))
    assert not works(connection, password="0" * 32)
    assert not works(connection, initiator="iqn.2026-01.org.example:stranger")
    assert works(connection)


def test_a_connector_without_an_initiator(
    driver: FileDriver, disk: VolumeRef, make_driver: MakeDriver, tgtd: TgtdServer
) -> None:
    assert works(driver.connect(export_of(disk, ip="127.0.0.1")))
    assert not works(driver.connect(export_of(disk, ip="192.0.2.1")))
    nobody = export_of(disk, host="here")
    with pytest.raises(BackendError, match="neither an initiator nor an ip"):
        driver.connect(nobody)
    open_driver = make_driver(allow_any_initiator=True, **tgtd.options)
    assert works(open_driver.connect(nobody))


@pytest.mark.parametrize(
    "facts",
    [
        {"initiator": "iqn.2026-01.org:x,initiator-address=ALL"},
        {"initiator": "*"},
        {"ip": "ALL"},
        {"ip": "0.0.0.0/0"},
        {"initiator": 5},
        {"ip": ["127.0.0.1"]},
    ],
)
def test_a_connector_cannot_slip_parameters_in(
    driver: FileDriver, disk: VolumeRef, facts: dict[str, Any], tgtd: TgtdServer
) -> None:
    with pytest.raises(BackendError, match="is refused"):
        driver.connect(export_of(disk, **facts))
    assert disk.id not in tgtd.listing()


def test_export_ids_are_checked(driver: FileDriver, disk: VolumeRef) -> None:
    for bad in ("", "a b", "a,b", "A", "x" * 81):
        with pytest.raises(BackendError, match=r"export id .* is refused"):
            driver.connect(replace(export_of(disk), id=bad))


def test_a_read_only_export(driver: FileDriver, disk: VolumeRef) -> None:
    writable, readable = driver.connect(export_of(disk)), driver.connect(export_of(disk, read_only=True))
    assert works(writable, "write -P 0x77 0 4k", "flush")
    assert works(readable, "read -P 0x77 0 4k", read_only=True)
    assert not works(readable, "write -P 0x78 0 4k")
    driver.extend_volume(disk, 2)
    assert works(writable, "write -P 0x79 0 4k")
    assert not works(readable, "write -P 0x78 0 4k")


def test_two_exports_of_one_volume(driver: FileDriver, disk: VolumeRef) -> None:
    exports = [export_of(disk) for _ in range(2)]
    one, two = (driver.connect(export) for export in exports)
    assert one["data"]["auth_password"] != two["data"]["auth_password"]
    assert works(one, "write -P 0x11 0 4k", "flush")
    assert works(two, "read -P 0x11 0 4k")
    driver.disconnect(exports[0])
    assert not works(one)
    assert works(two, "read -P 0x11 0 4k")


def test_it_is_one_disk_by_whatever_target(driver: FileDriver, disk: VolumeRef) -> None:
    """The identification that multipath and /dev/disk/by-id go by: the same for a volume, no other has it."""

    def identity(connection: Mapping[str, Any], page: str) -> bytes:
        data = connection["data"]
        login = f"{data['auth_username']}%{data['auth_password']}@{data['target_portal']}"
        url = f"iscsi://{login}/{data['target_iqn']}/1"
        command = ["iscsi-inq", "-i", INITIATOR, "-e", "1", "-c", page, url]
        return subprocess.run(command, check=True, capture_output=True, timeout=30).stdout

    other = volume()
    driver.create_volume(other)
    first, again, another = (driver.connect(export_of(of)) for of in (disk, disk, other))
    assert disk.id.replace("-", "").encode() in identity(first, "128")
    naa = [identity(each, "131").split(b"Designator:[")[1].split(b"]\n")[0] for each in (first, again, another)]
    assert naa[0] == naa[1] != naa[2]


def test_disconnect_leaves_nothing(driver: FileDriver, disk: VolumeRef, tgtd: TgtdServer) -> None:
    export = export_of(disk)
    before = tgtd.listing().count("Target "), tgtd.accounts()
    connection = driver.connect(export)
    for given in (export, replace(export, connection=connection)):
        driver.disconnect(given)
        assert disk.id not in tgtd.listing()
        assert (tgtd.listing().count("Target "), tgtd.accounts()) == before
    assert not works(connection)
    assert driver.inventory().exports == frozenset()


def test_disconnect_ends_a_session_that_writes(driver: FileDriver, disk: VolumeRef, tgtd: TgtdServer) -> None:
    export = export_of(disk)
    connection = driver.connect(export)
    with writing(connection) as client:
        wait_for_writes(driver, disk)
        driver.disconnect(export)
        assert disk.id not in tgtd.listing()
        driver.delete_volume(disk)
        time.sleep(0.3)
        assert client.poll() is None  # it goes on trying to log in
    assert driver.inventory().volumes == frozenset()
    open_files = {str(link.resolve()) for link in Path(f"/proc/{tgtd.pid}/fd").iterdir()}
    assert not any(disk.id in path for path in open_files)


def wait_for_writes(driver: FileDriver, disk: VolumeRef) -> None:
    """Until a new volume's writer is past its login and at work."""
    path = driver._volume_path(disk)
    eventually(lambda: path.stat().st_blocks)


def test_a_changed_prefix_leaves_old_exports_as_they_are(
    driver: FileDriver, disk: VolumeRef, make_driver: MakeDriver, tgtd: TgtdServer
) -> None:
    export = export_of(disk)
    connection = driver.connect(export)
    recorded = replace(export, connection=connection)
    changed = make_driver(target_prefix="iqn.2030-01.org.example:", **tgtd.options)
    assert changed.connect(recorded) == connection
    assert changed.inventory().exports == {export.id}
    changed.extend_volume(disk, 2)
    assert size_of(connection) == 2 * GIB
    assert changed.connect(export_of(disk))["data"]["target_iqn"].startswith("iqn.2030-01.org.example:volume-")
    changed.disconnect(recorded)
    assert connection["data"]["target_iqn"] not in tgtd.listing()


def test_connect_again_with_the_connection_keeps_sessions(
    driver: FileDriver, disk: VolumeRef, tgtd: TgtdServer
) -> None:
    export = export_of(disk)
    connection = driver.connect(export)
    listing = tgtd.listing()
    assert driver.connect(replace(export, connection=connection)) == connection
    assert tgtd.listing() == listing
    assert works(connection)


def test_connect_again_without_the_connection_replaces_the_target(
    driver: FileDriver, disk: VolumeRef, tgtd: TgtdServer
) -> None:
    export = export_of(disk)
    first, second = driver.connect(export), driver.connect(export)
    assert not works(first)
    assert works(second)
    assert tgtd.listing().count(disk.id + "." + export.id) == 1
    assert first["data"]["auth_username"] not in tgtd.accounts()


def test_exports_come_back_after_a_restart_of_tgtd(driver: FileDriver, disk: VolumeRef, tgtd: TgtdServer) -> None:
    exports = [export_of(disk, ip="127.0.0.1"), export_of(disk)]
    connections = [driver.connect(export) for export in exports]
    assert works(connections[0], "write -P 0x33 0 4k", "flush")
    tgtd.kill()
    assert driver.inventory().exports == frozenset()
    with pytest.raises(TgtdAbsent, match="tgtd does not run: nothing listens at"):
        driver.connect(exports[0])
    driver.disconnect(export_of(disk))
    driver.extend_volume(disk, 2)
    tgtd.start()
    for export, connection in zip(exports, connections, strict=True):
        for _ in range(2):
            assert driver.connect(replace(export, connection=connection)) == connection
        assert works(connection, "read -P 0x33 0 4k")
        assert size_of(connection) == 2 * GIB
    assert driver.inventory().exports == {export.id for export in exports}


@pytest.mark.parametrize("lacking", ["unit", "account", "access"])
def test_a_half_made_target_is_replaced(driver: FileDriver, disk: VolumeRef, tgtd: TgtdServer, lacking: str) -> None:
    export = export_of(disk)
    connection = driver.connect(export)
    client = Tgtd(f"{tgtd.socket}.0")
    [target] = [target for target in client.targets() if export.id in target.name]
    if lacking == "unit":
        client.call(Mode.UNIT, Op.DELETE, target.tid, 1)
    elif lacking == "account":
        client.call(Mode.ACCOUNT, Op.DELETE, parameters=f"user={connection['data']['auth_username']}")
    else:
        client.call(Mode.TARGET, Op.DELETE, target.tid, force=True)
        client.call(Mode.TARGET, Op.NEW, target.tid, parameters=f"targetname={target.name}")
    assert driver.inventory().exports == {export.id}
    assert driver.connect(replace(export, connection=connection)) == connection
    assert works(connection)


def test_a_connect_that_fails_leaves_nothing(
    driver: FileDriver, disk: VolumeRef, tgtd: TgtdServer, tmp_path: Path
) -> None:
    exports = TgtExports(
        Tgtd(f"{tgtd.socket}.0"),
        directory=tmp_path,
        portal=("127.0.0.1", tgtd.port),
        prefix="iqn.2026-11.org.pumice:",
        lock_file=tmp_path / "lock",
    )
    accounts = tgtd.accounts()
    with pytest.raises(TgtdError, match="the file cannot be opened"):
        exports.connect(export_of(disk), tmp_path / "nothing")
    assert disk.id not in tgtd.listing()
    assert tgtd.accounts() == accounts


def test_an_extended_volume_shows_its_size(driver: FileDriver, disk: VolumeRef) -> None:
    connections = [driver.connect(export_of(disk)) for _ in range(2)]
    for size in (2, 2, 5):
        driver.extend_volume(disk, size)
        assert [size_of(connection) for connection in connections] == [size * GIB] * 2


def test_extending_disturbs_no_writer(driver: FileDriver, disk: VolumeRef, tgtd: TgtdServer) -> None:
    connection = driver.connect(export_of(disk))
    with writing(connection, mebibytes=64) as client:
        wait_for_writes(driver, disk)
        driver.extend_volume(disk, 2)
        output, _ = client.communicate(timeout=120)
    assert client.returncode == 0, output
    assert "rror" not in output
    assert works(connection, "read -P 0x61 0 64M", "write -P 0x62 1500M 4k")


def test_extending_to_the_size_it_has_leaves_sessions_alone(
    driver: FileDriver, disk: VolumeRef, tgtd: TgtdServer
) -> None:
    connection = driver.connect(export_of(disk))
    driver.extend_volume(disk, 2)
    with writing(connection) as client:
        wait_for_writes(driver, disk)
        session = tgtd.listing().partition("I_T nexus: ")[2].partition("\n")[0]
        driver.extend_volume(disk, 2)
        assert tgtd.listing().partition("I_T nexus: ")[2].partition("\n")[0] == session
        assert client.poll() is None


def test_deleting_a_volume_takes_its_exports_along(driver: FileDriver, disk: VolumeRef, tgtd: TgtdServer) -> None:
    accounts = tgtd.accounts()
    driver.connect(export_of(disk))
    driver.connect(export_of(disk))
    driver.delete_volume(disk)
    assert disk.id not in tgtd.listing()
    assert tgtd.accounts() == accounts


def test_without_reflinks_what_is_exported_is_not_copied(
    make_driver: MakeDriver, tgtd: TgtdServer, tmp_path: Path
) -> None:
    with loop_filesystem("ext4", tmp_path, 64) as root:
        driver = make_driver(root / "b", **tgtd.options)
        disk, clone = volume(), volume()
        driver.create_volume(disk)
        export = export_of(disk)
        driver.connect(export)
        for call in (
            lambda: driver.clone_volume(clone, disk),
            lambda: driver.create_snapshot(snapshot(disk)),
        ):
            with pytest.raises(BackendError, match="cannot copy it as of one moment: detach it first"):
                call()
        driver.disconnect(export)
        driver.clone_volume(clone, disk)
        for each in (disk, clone):
            driver.delete_volume(each)


def test_snapshots_of_a_volume_in_use_are_of_one_moment(
    make_driver: MakeDriver, tgtd: TgtdServer, tmp_path: Path
) -> None:
    """A writer that goes through a volume in order: a snapshot holds all it wrote up to a point, nothing after."""
    with loop_filesystem("btrfs", tmp_path, 1024) as root:
        driver = make_driver(root / "b", **tgtd.options)
        disk = volume()
        driver.create_volume(disk)
        export = export_of(disk)
        points = [snapshot(disk) for _ in range(3)]
        with writing(driver.connect(export), mebibytes=400) as client:
            wait_for_writes(driver, disk)
            for point in points:
                time.sleep(0.1)
                driver.create_snapshot(point)
            client.kill()
            client.wait()
        driver.disconnect(export)
        extents = []
        for point in points:
            content = (root / "b" / "snapshots" / f"snapshot-{point.id}").open("rb")
            with content:
                written = 0
                while content.read(65536) == b"\x61" * 65536:
                    written += 65536
                content.seek(written)
                assert not content.read(8 * 2**20).strip(b"\0")
            extents.append(written)
        assert extents == sorted(extents)
        assert extents[-1] > 0


def test_many_at_once(make_driver: MakeDriver, tgtd: TgtdServer, tmp_path: Path) -> None:
    """Two drivers, as in two processes, connect and disconnect through one tgtd."""
    drivers = [make_driver(**tgtd.options) for _ in range(2)]
    disks = [volume() for _ in range(12)]
    exports = [export_of(disk) for disk in disks]

    def cycle(number: int) -> Mapping[str, Any]:
        driver = drivers[number % 2]
        driver.create_volume(disks[number])
        connection = driver.connect(exports[number])
        driver.extend_volume(disks[number], 2)
        return connection

    with ThreadPoolExecutor(6) as pool:
        connections = list(pool.map(cycle, range(12)))
        assert drivers[0].inventory().exports == {export.id for export in exports}
        assert len({connection["data"]["auth_password"] for connection in connections}) == 12
        list(pool.map(lambda number: drivers[number % 2].disconnect(exports[number]), range(12)))
    assert drivers[0].inventory().exports == frozenset()


def test_the_password_is_in_no_process_list_and_no_log(
    driver: FileDriver, disk: VolumeRef, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*words: object, **options: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    connection = driver.connect(export_of(disk))
    assert connection["data"]["auth_password"] not in caplog.text


def test_a_tgtd_that_hangs_is_reported(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(1)
        with pytest.raises(BackendError, match="does not answer: timed out"):
            list(Tgtd(path, timeout=0.05).targets())
        thread = threading.Thread(target=lambda: [listener.accept()[0].close() for _ in range(2)])
        thread.start()
        with pytest.raises(BackendError, match="does not answer"):
            list(Tgtd(path, timeout=LONG).targets())
        thread.join(LONG)


def test_the_client_tells_refusals_apart(tgtd: TgtdServer) -> None:
    client = Tgtd(f"{tgtd.socket}.0")
    with pytest.raises(TgtdError, match="tgtd refused delete target: no such target") as refusal:
        client.call(Mode.TARGET, Op.DELETE, 77)
    assert refusal.value.code == Code.NO_TARGET
    with pytest.raises(TgtdError, match="tgtd refused delete account: no such account"):
        client.call(Mode.ACCOUNT, Op.DELETE, parameters="user=nobody")
