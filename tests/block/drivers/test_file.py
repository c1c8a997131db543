from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import subprocess
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pumice.block.drivers import copying
from pumice.block.drivers.base import OPTIONAL, Connector, Driver, Export, SnapshotRef, VolumeRef
from pumice.block.drivers.file import FileDriver
from pumice.kernel.drivers import GIB, BackendError, NoSpace, ObjectMissing, features
from tests.block.drivers.conftest import MakeDriver, snapshot, volume
from tests.support.loopfs import REFLINKS, loop_filesystem
from tests.support.sections import section

pytestmark = pytest.mark.real


@pytest.fixture
def home(filesystem: Path) -> Path:
    return filesystem / uuid.uuid4().hex


@pytest.fixture
def driver(make_driver: MakeDriver, home: Path) -> FileDriver:
    return make_driver(home)


def file_of(home: Path, of: VolumeRef | SnapshotRef) -> Path:
    kind = "volume" if isinstance(of, VolumeRef) else "snapshot"
    return home / f"{kind}s" / f"{kind}-{of.id}"


def write(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def read(path: Path, offset: int, length: int = 4) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(length)


def everything(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}


def test_it_is_a_driver_with_all_features(driver: FileDriver) -> None:
    assert isinstance(driver, Driver)
    assert features(driver, OPTIONAL) == features(FileDriver, OPTIONAL) == {"snapshots", "clones", "reverts"}


def test_a_blank_volume_is_sparse_private_and_of_its_size(driver: FileDriver, home: Path) -> None:
    new = volume(3)
    driver.create_volume(new)
    driver.create_volume(new)
    stat = file_of(home, new).stat()
    assert stat.st_size == 3 * GIB
    assert stat.st_blocks < 100
    assert stat.st_mode & 0o777 == 0o600
    assert (home / "volumes").stat().st_mode & 0o777 == 0o700
    driver.delete_volume(new)
    driver.delete_volume(new)
    assert everything(home) == set()


def test_data_of_snapshots_clones_and_reverts(driver: FileDriver, home: Path) -> None:
    origin = volume()
    driver.create_volume(origin)
    write(file_of(home, origin), 700 * 1024**2, b"old!")
    point = snapshot(origin)
    driver.create_snapshot(point)
    write(file_of(home, origin), 700 * 1024**2, b"new!")
    write(file_of(home, origin), 0, b"more")
    driver.create_snapshot(point)  # again: it stays what it was

    larger, clone = volume(2), volume()
    for _ in range(2):
        driver.create_volume_from_snapshot(larger, point)
        driver.clone_volume(clone, origin)
        write(file_of(home, clone), 4096, b"mine")
    assert read(file_of(home, larger), 700 * 1024**2) == b"old!"
    assert read(file_of(home, larger), 0) == bytes(4)
    assert file_of(home, larger).stat().st_size == 2 * GIB
    assert read(file_of(home, clone), 700 * 1024**2) == b"new!"
    assert read(file_of(home, clone), 4096) == b"mine"
    assert read(file_of(home, origin), 4096) == bytes(4)

    for _ in range(2):
        driver.revert_to_snapshot(origin, point)
        assert read(file_of(home, origin), 700 * 1024**2) == b"old!"
        assert read(file_of(home, origin), 0) == bytes(4)
    for _ in range(2):
        driver.delete_snapshot(point)
    assert driver.inventory().snapshots == frozenset()
    assert driver.inventory().volumes == {origin.id, larger.id, clone.id}
    for each in (origin, larger, clone):
        driver.delete_volume(each)


def test_a_reverted_volume_keeps_its_larger_size(driver: FileDriver, home: Path) -> None:
    origin = volume()
    driver.create_volume(origin)
    point = snapshot(origin)
    driver.create_snapshot(point)
    driver.extend_volume(origin, 2)
    driver.revert_to_snapshot(VolumeRef(origin.id, 2), point)
    assert file_of(home, origin).stat().st_size == 2 * GIB


def test_extend_grows_keeps_data_and_never_shrinks(driver: FileDriver, home: Path) -> None:
    new = volume()
    driver.create_volume(new)
    write(file_of(home, new), GIB - 4, b"tail")
    for size in (2, 2, 1):
        driver.extend_volume(new, size)
        assert file_of(home, new).stat().st_size == 2 * GIB
    assert read(file_of(home, new), GIB - 4, 8) == b"tail" + bytes(4)


def test_what_is_missing_is_named(driver: FileDriver, home: Path) -> None:
    there, gone = volume(), volume()
    driver.create_volume(there)
    lost = snapshot(gone)
    calls = [
        lambda: driver.clone_volume(volume(), gone),
        lambda: driver.create_snapshot(lost),
        lambda: driver.extend_volume(gone, 2),
        lambda: driver.connect(Export("e1", gone, Connector({"initiator": "iqn.2026-01.org:x"}))),
        lambda: driver.revert_to_snapshot(gone, lost),
        lambda: driver.revert_to_snapshot(there, lost),
        lambda: driver.create_volume_from_snapshot(volume(), lost),
    ]
    for call in calls:
        with pytest.raises(ObjectMissing, match=f"({gone.id}|{lost.id}) is not on backend files"):
            call()
    assert everything(home) == {f"volumes/volume-{there.id}"}


def test_ids_that_are_no_uuids_are_refused(driver: FileDriver, home: Path) -> None:
    for bad in ("../../etc/passwd", "", "x", str(uuid.uuid4()).upper(), uuid.uuid4().hex):
        for call in (driver.create_volume, driver.delete_volume):
            with pytest.raises(BackendError, match="a UUID in lower case is allowed"):
                call(VolumeRef(bad, 1))
    assert everything(home) == set()


def test_a_clone_of_1_gib_of_data(driver: FileDriver, home: Path, filesystem: Path) -> None:
    """Its time is asserted where the file system shares data; elsewhere that holes are left out."""
    origin, clone = volume(), volume()
    driver.create_volume(origin)
    written = GIB if REFLINKS[filesystem.name] else 64 * 1024**2
    block = os.urandom(1024**2)
    with file_of(home, origin).open("r+b") as file:
        for _ in range(written // len(block)):
            file.write(block)
        os.fsync(file.fileno())
    begin = time.thread_time()
    driver.clone_volume(clone, origin)
    seconds = time.thread_time() - begin
    assert driver.pools()[0].extra["clone_method"] == ("reflink" if REFLINKS[filesystem.name] else "copy")
    if REFLINKS[filesystem.name]:
        assert seconds < 0.2
    assert read(file_of(home, clone), written - 1024**2, 1024**2) == block
    assert file_of(home, clone).stat().st_blocks * 512 < written + 1024**2
    driver.delete_volume(origin)
    driver.delete_volume(clone)


def test_holes_stay_holes_when_copied(driver: FileDriver, tmp_path: Path, filesystem: Path) -> None:
    paths = [filesystem / f"{uuid.uuid4().hex}" for _ in range(2)]
    for path in paths:
        path.touch()
    os.truncate(paths[0], GIB)
    for megabyte in (0, 1, 500, 1023):
        write(paths[0], megabyte * 1024**2, bytes([megabyte % 255 + 1]) * 4096)
    source, target = (os.open(path, os.O_RDWR) for path in paths)
    copying.copy_sparse(source, target)
    os.close(source)
    os.close(target)
    assert paths[1].stat().st_size == GIB
    assert paths[1].stat().st_blocks <= paths[0].stat().st_blocks
    subprocess.run(["cmp", *map(str, paths)], check=True)
    for path in paths:
        path.unlink()


def test_statistics_are_those_of_the_file_system(driver: FileDriver, home: Path, make_driver: MakeDriver) -> None:
    origin = volume(2)
    driver.create_volume(origin)
    write(file_of(home, origin), 0, os.urandom(8 * 1024**2))
    os.sync()
    driver.create_snapshot(snapshot(origin))
    os.sync()
    [pool] = driver.pools()
    space = os.statvfs(home)
    assert pool.name == "files"
    assert pool.total_gb == space.f_blocks * space.f_frsize / GIB
    assert pool.free_gb == pytest.approx(space.f_bavail * space.f_frsize / GIB, abs=0.01)
    assert pool.provisioned_gb == 4
    assert pool.thin
    assert pool.extra["allocated_capacity_gb"] == pytest.approx(16 / 1024, rel=0.05)
    assert (pool.reserved_percentage, pool.max_over_subscription_ratio) == (0, 20.0)
    other = make_driver(home, volume_backend_name="fast", reserved_percentage=7, max_over_subscription_ratio="auto")
    [named] = other.pools()
    assert (named.name, named.reserved_percentage) == ("fast", 7)
    assert named.total_gb is not None
    assert named.free_gb is not None
    assert named.max_over_subscription_ratio == pytest.approx(1 + 4 / (named.total_gb - named.free_gb))


def test_what_a_crash_left_is_listed_and_removed_at_the_start(
    driver: FileDriver, home: Path, make_driver: MakeDriver
) -> None:
    origin = volume()
    driver.create_volume(origin)
    half = home / "volumes" / f"volume-{origin.id}.reverted"
    half.touch()
    (home / "volumes" / "notes.txt").touch()
    assert driver.inventory().leftovers == {half.name, "notes.txt"}
    point = snapshot(origin)
    driver.create_snapshot(point)
    driver.revert_to_snapshot(origin, point)  # a revert takes a former one's place
    assert not half.exists()
    half.touch()
    again = make_driver(home)
    assert again.inventory().leftovers == {"notes.txt"}
    assert again.inventory().volumes == {origin.id}


def write_and_die(directory: Path) -> None:
    os.write(copying.unnamed_file(directory), b"x" * 1024**2)
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_copy_leaves_nothing(driver: FileDriver, home: Path) -> None:
    before = everything(home)
    child = multiprocessing.get_context("spawn").Process(target=write_and_die, args=(home / "volumes",))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    assert everything(home) == before
    assert driver.inventory().leftovers == frozenset()


def test_the_loser_of_a_race_does_not_replace_the_winners_volume(driver: FileDriver, home: Path) -> None:
    origin, clone = volume(), volume()
    driver.create_volume(origin)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: driver.clone_volume(clone, origin), range(16)))
    inode = file_of(home, clone).stat().st_ino
    unnamed = copying.unnamed_file(home / "volumes")
    with pytest.raises(FileExistsError):
        copying.name_file(unnamed, file_of(home, clone))
    os.close(unnamed)
    assert file_of(home, clone).stat().st_ino == inode


def test_a_copy_of_what_changes_meanwhile_fails(
    make_driver: MakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loop_filesystem("ext4", tmp_path, 64) as root:
        driver = make_driver(root / "b")
        origin, clone = volume(), volume()
        driver.create_volume(origin)

        def copy_and_write(source: int, target: int) -> None:
            time.sleep(0.02)
            write(file_of(root / "b", origin), 0, b"now!")

        monkeypatch.setattr("pumice.block.drivers.file.copy_sparse", copy_and_write)
        with pytest.raises(BackendError, match="was written to while it was copied"):
            driver.clone_volume(clone, origin)
        assert driver.inventory().volumes == {origin.id}


def test_a_full_file_system_gives_a_clean_error_and_leaves_nothing(make_driver: MakeDriver, tmp_path: Path) -> None:
    with loop_filesystem("ext4", tmp_path, 64) as root:
        home = root / "b"
        driver = make_driver(home)
        origin, clone = volume(), volume()
        driver.create_volume(origin)
        room = os.statvfs(home).f_bavail * os.statvfs(home).f_frsize
        with file_of(home, origin).open("r+b") as file:
            for _ in range(int(room * 0.6) // 1024**2):
                file.write(b"x" * 1024**2)
        with pytest.raises(NoSpace, match="backend files has no space left"):
            driver.clone_volume(clone, origin)
        with pytest.raises(NoSpace, match="backend files has no space left"):
            driver.create_snapshot(snapshot(origin))
        assert everything(home) == {f"volumes/volume-{origin.id}"}
        assert os.statvfs(home).f_bavail * os.statvfs(home).f_frsize > room * 0.3
        driver.create_volume(volume())


def test_other_errors_name_the_backend(
    make_driver: MakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = make_driver(tmp_path / "b")

    def broken(directory: Path) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("pumice.block.drivers.file.unnamed_file", broken)
    with pytest.raises(BackendError, match="failed on backend files: Input/output error"):
        driver.create_volume(volume())


def test_a_directory_with_a_comma_is_refused(tmp_path: Path) -> None:
    driver = FileDriver(section(FileDriver, directory=str(tmp_path / "a,b")), name="files", state_dir=tmp_path)
    with pytest.raises(BackendError, match="no path with a comma"):
        driver.start()


def test_the_directory_is_below_the_state_by_default(tmp_path: Path) -> None:
    driver = FileDriver(section(FileDriver), name="files", state_dir=tmp_path)
    driver.start()
    assert (tmp_path / "volumes" / "snapshots").is_dir()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_over_subscription_ratio", "0.5"),
        ("target_prefix", "pumice:"),
        ("reserved_percentage", 101),
        ("target_helper", "lioadm"),
    ],
)
def test_wrong_options_are_refused(option: str, value: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        getattr(section(FileDriver, **{option: value}), option)
