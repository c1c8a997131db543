from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import multiprocessing
import os
import random
import struct
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pumice.kernel.drivers import GIB, BackendError, NoSpace, features
from pumice.share.drivers import subvolumes
from pumice.share.drivers.base import OPTIONAL, Applied, Rule, ShareRef, SnapshotRef, WouldLoseData
from pumice.share.drivers.base import Path as Location
from pumice.share.drivers.btrfs import BtrfsDriver
from pumice.share.drivers.mounts import unmount_below
from pumice.share.exports.base import as_text
from tests.share.drivers.conformance import Conformance
from tests.share.drivers.conftest import rule, share, snapshot
from tests.support.loopfs import loop_filesystem
from tests.support.sections import section

pytestmark = pytest.mark.real

MIB = 1024**2
QUOTA_CTL, ENABLE_SIMPLE = 0xC0109428, 4  # of linux/btrfs.h


class FakeExporter:
    """A file server that keeps account of what it would export."""

    protocol: ClassVar[str] = "NFS"

    def __init__(self) -> None:
        self.paths: dict[str, Path] = {}
        self.names: dict[str, str] = {}
        self.read_only: dict[str, bool] = {}
        self.rules: dict[str, frozenset[str]] = {}

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def export(self, id: str, path: Path, name: str, *, read_only: bool = False) -> list[Location]:
        assert path.is_mount()
        self.paths[id], self.names[id], self.read_only[id] = path, name, read_only
        self.rules.setdefault(id, frozenset())
        return [Location(f"127.0.0.1:/{name}")]

    def unexport(self, id: str) -> None:
        self.rules.pop(id, None)

    def apply(self, id: str, rules: Sequence[Rule]) -> Mapping[str, Applied]:
        known = [each for each in rules if each.type == "ip"]
        self.rules[id] = frozenset(as_text(each, read_only=self.read_only[id]) for each in known)
        return {each.id: Applied(None if each in known else "only by ip") for each in rules}

    def ids(self) -> frozenset[str]:
        return frozenset(self.rules)

    def exports(self) -> Mapping[str, frozenset[str]]:
        return dict(self.rules)


MakeBtrfs = Callable[..., BtrfsDriver]


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with loop_filesystem("btrfs", tmp_path_factory.mktemp("loop")) as root:
        yield root


@pytest.fixture
def exporter() -> FakeExporter:
    return FakeExporter()


@pytest.fixture
def make(tmp_path: Path, exporter: FakeExporter) -> Iterator[MakeBtrfs]:
    """Makes and starts a driver on a directory; all of a test share one state directory and one file server."""

    def make(directory: Path, **values: Any) -> BtrfsDriver:
        options = section(BtrfsDriver, directory=str(directory), **values)
        driver = BtrfsDriver(options, name="pool", state_dir=tmp_path, exporters={"NFS": exporter})
        driver.start()
        return driver

    yield make
    unmount_below(tmp_path / "mounts")


@pytest.fixture
def home(pool: Path) -> Path:
    return pool / uuid.uuid4().hex


@pytest.fixture
def driver(make: MakeBtrfs, home: Path) -> BtrfsDriver:
    return make(home)


def data_of(home: Path, of: ShareRef | SnapshotRef) -> Path:
    return home / ("shares" if isinstance(of, ShareRef) else "snapshots") / of.id


def fill(path: Path, size: int) -> None:
    """Write so many bytes, of which no two blocks are alike, to the disk."""
    with path.open("wb", buffering=0) as file:
        for _ in range(0, size, MIB):
            file.write(os.urandom(min(size, MIB)))
        os.fsync(file.fileno())


def small(driver: BtrfsDriver, of: ShareRef, home: Path, size: int) -> None:
    """Give a share a limit that is reached sooner than a GiB."""
    subvolumes.limit(data_of(home, of), size)


class TestConformance(Conformance):
    pass


def test_it_has_all_features(driver: BtrfsDriver, exporter: FakeExporter) -> None:
    assert features(driver, OPTIONAL) == OPTIONAL.keys()
    origin = share()
    point = snapshot(origin)
    assert [path.path for path in driver.create_share(origin)] == [f"127.0.0.1:/share-{origin.id}"]
    assert driver.create_snapshot(point) == f"snapshot-{point.id}"
    assert driver.export_snapshot(point)[0].path == f"127.0.0.1:/snapshot-{point.id}"
    assert exporter.read_only == {origin.id: False, point.id: True}


def test_writes_end_at_the_size(driver: BtrfsDriver, home: Path, exporter: FakeExporter) -> None:
    origin = share()
    driver.create_share(origin)
    assert subvolumes.usage(data_of(home, origin)).limit == GIB
    small(driver, origin, home, 32 * MIB)
    mounted = exporter.paths[origin.id]
    with pytest.raises(OSError, match="quota") as caught:
        fill(mounted / "file", 64 * MIB)
    assert caught.value.errno == errno.EDQUOT
    assert (mounted / "file").stat().st_size == pytest.approx(32 * MIB, rel=0.1)
    (mounted / "file").unlink()
    os.sync()
    fill(mounted / "file", 16 * MIB)


def changed_since_snapshot(driver: BtrfsDriver, exporter: FakeExporter) -> tuple[ShareRef, SnapshotRef]:
    """A share whose file says "after", and a snapshot of it in which that says "before"."""
    origin = share()
    driver.create_share(origin)
    (exporter.paths[origin.id] / "file").write_text("before")
    point = snapshot(origin)
    driver.create_snapshot(point)
    (exporter.paths[origin.id] / "file").write_text("after")
    return origin, point


def test_data_of_snapshots_clones_and_reverts(driver: BtrfsDriver, home: Path, exporter: FakeExporter) -> None:
    origin, clone = share(), share(3)
    driver.create_share(origin)
    (exporter.paths[origin.id] / "file").write_text("before")
    point = snapshot(origin)
    driver.create_snapshot(point)
    (exporter.paths[origin.id] / "file").write_text("after")
    (exporter.paths[origin.id] / "more").touch()

    driver.export_snapshot(point)
    assert (exporter.paths[point.id] / "file").read_text() == "before"
    with pytest.raises(OSError, match="Read-only"):
        (exporter.paths[point.id] / "file").write_text("no")

    driver.create_share_from_snapshot(clone, point)
    assert (exporter.paths[clone.id] / "file").read_text() == "before"
    (exporter.paths[clone.id] / "file").write_text("the clone's")
    assert subvolumes.usage(data_of(home, clone)).limit == 3 * GIB

    driver.revert_to_snapshot(origin, point)
    assert (exporter.paths[origin.id] / "file").read_text() == "before"
    assert {path.name for path in exporter.paths[origin.id].iterdir()} == {"file"}
    assert (exporter.paths[point.id] / "file").read_text() == "before"
    driver.delete_snapshot(point)
    assert (exporter.paths[clone.id] / "file").read_text() == "the clone's"


def test_a_clone_counts_what_it_shares(driver: BtrfsDriver, home: Path, exporter: FakeExporter) -> None:
    origin, clone = share(), share()
    driver.create_share(origin)
    fill(exporter.paths[origin.id] / "file", 24 * MIB)
    point = snapshot(origin)
    driver.create_snapshot(point)
    driver.create_share_from_snapshot(clone, point)
    small(driver, clone, home, 32 * MIB)
    with pytest.raises(OSError, match="quota"):
        fill(exporter.paths[clone.id] / "more", 24 * MIB)


def test_a_revert_keeps_size_rules_and_the_limit(driver: BtrfsDriver, home: Path, exporter: FakeExporter) -> None:
    origin = share()
    driver.create_share(origin)
    point = snapshot(origin)
    driver.create_snapshot(point)
    driver.extend_share(origin, 2)
    driver.apply_access(origin, [rule("10.0.0.1"), rule("fd00::/64", level="ro")])
    driver.revert_to_snapshot(replace(origin, size=2), point)
    assert subvolumes.usage(data_of(home, origin)).limit == 2 * GIB
    assert exporter.rules[origin.id] == {"ip 10.0.0.1 rw", "ip fd00::/64 ro"}
    assert not data_of(home, origin).with_name(f"{origin.id}.new").exists()


def test_a_share_shrinks_to_what_is_used_and_not_below(driver: BtrfsDriver, home: Path, exporter: FakeExporter) -> None:
    origin = share(3)
    driver.create_share(origin)
    subprocess.run(["fallocate", "-l", "1100M", str(exporter.paths[origin.id] / "file")], check=True)
    with pytest.raises(WouldLoseData, match=r"cannot shrink to 1 GiB: 1\.07 GiB are used"):
        driver.shrink_share(origin, 1)
    assert subvolumes.usage(data_of(home, origin)).limit == 3 * GIB
    driver.shrink_share(origin, 2)
    assert subvolumes.usage(data_of(home, origin)).limit == 2 * GIB
    driver.extend_share(origin, 1)
    assert subvolumes.usage(data_of(home, origin)).limit == 2 * GIB


def test_what_is_written_during_a_shrink_is_not_lost(
    driver: BtrfsDriver, home: Path, exporter: FakeExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = share(2)
    driver.create_share(origin)
    really = subvolumes.usage
    answers = iter([subvolumes.Usage(0, 2 * GIB), subvolumes.Usage(GIB + 1, GIB)])
    monkeypatch.setattr(subvolumes, "usage", lambda _, exact: next(answers))
    with pytest.raises(WouldLoseData):
        driver.shrink_share(origin, 1)
    assert really(data_of(home, origin)).limit == 2 * GIB


@pytest.mark.parametrize("id", ["../x", "", "A" * 36, "6a7ee06e-1234-1234-1234-1234567890AB"])
def test_ids_that_are_no_uuids_are_refused(driver: BtrfsDriver, id: str) -> None:
    with pytest.raises(BackendError, match="a UUID in lower case is allowed"):
        driver.create_share(ShareRef(id, 1, "NFS"))


def test_protocols_that_are_not_exported_are_refused(driver: BtrfsDriver) -> None:
    refused = share(proto="CIFS")
    with pytest.raises(BackendError, match="protocol 'CIFS' is refused: pool exports by NFS"):
        driver.create_share(refused)
    assert driver.inventory().shares == set()
    driver.delete_share(refused)


def test_the_root_of_a_share_is_everybodys_or_as_configured(driver: BtrfsDriver, make: MakeBtrfs, home: Path) -> None:
    plain, owned = share(), share()
    driver.create_share(plain)
    make(home, share_root_mode="2750", share_root_owner="1000:100").create_share(owned)
    stats = [data_of(home, each).stat() for each in (plain, owned)]
    assert [(stat.st_mode & 0o7777, stat.st_uid, stat.st_gid) for stat in stats] == [(0o777, 0, 0), (0o2750, 1000, 100)]
    assert (home / "shares").stat().st_mode & 0o777 == 0o700


def test_what_is_unmanaged_keeps_its_data_and_is_found_again(
    driver: BtrfsDriver, home: Path, exporter: FakeExporter
) -> None:
    origin, taken = share(2), share(0)
    [path] = driver.create_share(origin)
    (exporter.paths[origin.id] / "file").write_text("kept")
    point = snapshot(origin)
    place = driver.create_snapshot(point)
    new_point = replace(snapshot(taken), provider_location=place)
    with pytest.raises(BackendError, match="is managed already"):
        driver.manage_share(taken, path.path, {})
    with pytest.raises(BackendError, match="is managed already"):
        driver.manage_share(taken, f"shares/{origin.id}", {})
    for _ in range(2):
        driver.unmanage_snapshot(point)
        driver.unmanage_share(origin)
    inventory = driver.inventory()
    assert not any((inventory.shares, inventory.snapshots, inventory.exports, inventory.leftovers))
    with pytest.raises(BackendError, match="is read only"):
        driver.manage_share(taken, place, {})
    with pytest.raises(BackendError, match="is writable"):
        driver.manage_snapshot(new_point, path.path, {})
    for _ in range(2):
        size, paths = driver.manage_share(taken, path.path, {})
        assert (size, paths) == (2, [Location(f"127.0.0.1:/share-{taken.id}")])
        assert driver.manage_snapshot(new_point, place, {}) == 1
    assert (exporter.paths[taken.id] / "file").read_text() == "kept"
    assert (driver.inventory().shares, driver.inventory().snapshots) == ({taken.id}, {new_point.id})
    driver.unmanage_snapshot(new_point)
    driver.manage_snapshot(replace(snapshot(taken), provider_location=place), place, {})


def test_subvolumes_made_by_others_are_managed(driver: BtrfsDriver, home: Path, exporter: FakeExporter) -> None:
    for name in ("theirs", "deep", "windows"):
        (home / "tree").mkdir(exist_ok=True)
        subvolumes.create(home / "tree" / name)
    fill(home / "tree" / "theirs" / "file", 8 * MIB)
    first = share(0)
    size, _ = driver.manage_share(first, str(home / "tree" / "theirs"), {})
    assert size == 1
    assert subvolumes.usage(data_of(home, first)).limit == GIB
    assert (exporter.paths[first.id] / "file").stat().st_size == 8 * MIB
    driver.manage_share(share(0), "10.0.0.1:/tree/deep", {})
    driver.manage_share(share(0), "\\\\host\\tree\\windows", {})
    (home / "plain").mkdir()
    (home / "link").symlink_to(home.parent)
    for location in ("10.0.0.1:/plain", "nothing", "", "10.0.0.1:/", "../..", "/etc", "link", "tree/../../x"):
        with pytest.raises(BackendError, match="only such can be managed"):
            driver.manage_share(share(0), location, {})


def test_statistics_are_those_of_the_file_system(make: MakeBtrfs, home: Path, pool: Path) -> None:
    driver = make(home, share_backend_name="gold", reserved_share_percentage=7, max_over_subscription_ratio="auto")
    driver.create_share(share(3))
    driver.create_share(share(2))
    [stats] = driver.pools()
    space = os.statvfs(pool)
    assert stats.name == "gold"
    assert stats.total_gb == space.f_blocks * space.f_frsize / GIB
    assert stats.free_gb == pytest.approx(space.f_bavail * space.f_frsize / GIB, abs=0.01)
    assert (stats.provisioned_gb, stats.thin, stats.reserved_percentage) == (5, True, 7)
    assert stats.total_gb is not None
    assert stats.free_gb is not None
    assert stats.max_over_subscription_ratio == pytest.approx(1 + 5 / (stats.total_gb - stats.free_gb), rel=0.01)


def test_limits_of_what_is_gone_are_gone(driver: BtrfsDriver, home: Path, pool: Path) -> None:
    before = set(subvolumes.usages(pool))
    for _ in range(3):
        origin = share()
        point = snapshot(origin)
        driver.create_share(origin)
        driver.create_snapshot(point)
        driver.delete_snapshot(point)
        driver.delete_share(origin)
    subprocess.run(["btrfs", "subvolume", "sync", str(pool)], check=True, capture_output=True, timeout=60)
    driver.pools()
    subprocess.run(["btrfs", "filesystem", "sync", str(pool)], check=True, timeout=60)
    assert len(set(subvolumes.usages(pool)) - before) == 0


def test_lost_counts_are_counted_again(driver: BtrfsDriver, home: Path, pool: Path) -> None:
    def btrfs(*words: str) -> str:
        done = subprocess.run(["btrfs", *words, str(pool)], check=True, capture_output=True, text=True, timeout=60)
        return done.stderr

    origin = share()
    driver.create_share(origin)
    fill(data_of(home, origin) / "file", MIB)
    driver.create_snapshot(snapshot(origin))
    number = subprocess.check_output(
        ["btrfs", "inspect-internal", "rootid", str(data_of(home, origin))], text=True
    ).strip()
    btrfs("qgroup", "create", "1/7")
    btrfs("qgroup", "assign", "--no-rescan", f"0/{number}", "1/7")
    assert "inconsistent" in btrfs("qgroup", "show")
    driver.pools()
    btrfs("quota", "rescan", "--wait-norescan")
    assert "inconsistent" not in btrfs("qgroup", "show")


def test_a_full_pool_gives_a_clean_error_and_leaves_nothing(make: MakeBtrfs, tmp_path: Path) -> None:
    with loop_filesystem("mixed", tmp_path, 32) as root:
        home = root / "b"
        driver = make(home)
        origin = share()
        driver.create_share(origin)
        for size in (MIB, 4096):
            with contextlib.suppress(OSError):
                while True:
                    fill(data_of(home, origin) / uuid.uuid4().hex, size)
        with pytest.raises(NoSpace):
            driver.create_share(share())
        with pytest.raises(NoSpace):
            driver.create_snapshot(snapshot(origin))
        inventory = driver.inventory()
        assert (inventory.shares, inventory.snapshots, inventory.leftovers) == ({origin.id}, set(), set())
        assert driver.pools()[0].free_gb < 4 / 1024
        for path in data_of(home, origin).iterdir():
            path.unlink()
        driver.create_share(share())


@pytest.mark.parametrize("takes_place", [False, True])
def test_a_disk_too_full_for_a_revert_is_tidied_when_there_is_room(
    driver: BtrfsDriver, exporter: FakeExporter, monkeypatch: pytest.MonkeyPatch, takes_place: bool
) -> None:
    origin, point = changed_since_snapshot(driver, exporter)
    exchange = subvolumes.exchange

    def exchange_and_fail(first: Path, second: Path) -> None:
        if takes_place:
            exchange(first, second)
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(subvolumes, "exchange", exchange_and_fail)
        patch.setattr(subvolumes, "delete", refuse)
        with pytest.raises(NoSpace):
            driver.revert_to_snapshot(origin, point)
        driver.pools()
    assert (exporter.paths[origin.id] / "file").read_text() == ("before" if takes_place else "after")
    assert driver.inventory().leftovers == {f"shares/{origin.id}.new"}
    driver.pools()
    assert driver.inventory().leftovers == set()


@pytest.mark.parametrize("fails", ["limit", "move"])
def test_a_disk_too_full_for_a_share_is_tidied_when_there_is_room(
    driver: BtrfsDriver, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    origin, other = share(), share()
    for each in (origin, other):
        with monkeypatch.context() as patch:
            patch.setattr(subvolumes, fails, refuse if fails == "limit" else full)
            patch.setattr(subvolumes, "delete", refuse)
            with pytest.raises(NoSpace):
                driver.create_share(each)
    assert driver.inventory().leftovers == {f"shares/{each.id}.new" for each in (origin, other)}
    driver.create_share(origin)
    driver.pools()
    assert (driver.inventory().shares, driver.inventory().leftovers) == ({origin.id}, set())


def refuse(*_: object) -> None:
    raise NoSpace("No space left on device")


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "full")


def test_what_a_crash_left_is_listed_and_removed_at_the_start(
    driver: BtrfsDriver, home: Path, make: MakeBtrfs, exporter: FakeExporter, tmp_path: Path
) -> None:
    origin = share()
    driver.create_share(origin)
    half = home / "shares" / f"{origin.id}.new"
    subvolumes.create(half)
    (home / "snapshots" / "notes.txt").touch()
    (home / "shares" / "notes.new").touch()
    (tmp_path / "mounts" / "pool" / "nobodys").mkdir()
    assert driver.inventory().leftovers == {
        f"shares/{half.name}",
        "shares/notes.new",
        "snapshots/notes.txt",
        "mounts/nobodys",
    }
    again = make(home)
    assert again.inventory().leftovers == {"shares/notes.new", "snapshots/notes.txt"}
    assert again.inventory().shares == {origin.id}
    assert exporter.paths[origin.id].is_mount()


@pytest.mark.parametrize("how", ["again", "by another worker", "not again"])
def test_a_revert_that_died_leaves_a_whole_share(
    driver: BtrfsDriver, make: MakeBtrfs, exporter: FakeExporter, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    origin, point = changed_since_snapshot(driver, exporter)
    driver.apply_access(origin, [rule("10.0.0.1")])
    exchange = subvolumes.exchange

    def exchange_and_die(first: Path, second: Path) -> None:
        exchange(first, second)
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(subvolumes, "exchange", exchange_and_die)
        with pytest.raises(SystemExit):
            driver.revert_to_snapshot(origin, point)
    assert (exporter.paths[origin.id] / "file").read_text() == "after"
    if how != "again":
        driver = make(driver._directory)
    if how == "not again":
        driver.ensure_share(origin)
    else:
        driver.revert_to_snapshot(origin, point)
    assert (exporter.paths[origin.id] / "file").read_text() == "before"
    assert exporter.rules[origin.id] == {"ip 10.0.0.1 rw"}
    assert driver.inventory().leftovers == set()


def work_until_killed(home: Path, state: Path, ready: Event) -> None:
    options = section(BtrfsDriver, directory=str(home))
    driver = BtrfsDriver(options, name="pool", state_dir=state, exporters={"NFS": FakeExporter()})
    driver.start()
    ready.set()
    while True:
        origin, clone = share(), share(2)
        point = snapshot(origin)
        driver.create_share(origin)
        driver.create_snapshot(point)
        driver.revert_to_snapshot(origin, point)
        driver.create_share_from_snapshot(clone, point)
        driver.extend_share(origin, 3)
        driver.shrink_share(origin, 1)
        driver.delete_share(clone)
        driver.unmanage_share(origin)
        driver.manage_share(clone, f"share-{origin.id}", {})
        if random.random() < 0.5:
            driver.delete_snapshot(point)
            driver.delete_share(clone)


@pytest.mark.slow
def test_a_killed_worker_leaves_nothing_half(
    home: Path, make: MakeBtrfs, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    moments = random.Random(pytestconfig.getoption("--seed"))
    processes = multiprocessing.get_context("spawn")
    for _ in range(4):
        ready = processes.Event()
        child = processes.Process(target=work_until_killed, args=(home, tmp_path, ready))
        child.start()
        assert ready.wait(60)
        time.sleep(moments.uniform(0.1, 0.9))
        child.kill()
        child.join(60)
        driver = make(home)
        inventory = driver.inventory()
        assert inventory.leftovers == set()
        for id in inventory.shares:
            used = subvolumes.usage(home / "shares" / id)
            assert used.limit in {GIB, 2 * GIB, 3 * GIB}
            driver.ensure_share(ShareRef(id, used.limit // GIB, "NFS"))
        for id in inventory.snapshots:
            assert subvolumes.is_read_only(home / "snapshots" / id)
            driver.delete_snapshot(SnapshotRef(id, ShareRef("", 0, ""), 0))
        for id in inventory.shares:
            driver.delete_share(ShareRef(id, 0, ""))
    assert driver.pools()[0].provisioned_gb == 0


def test_mounts_come_back(driver: BtrfsDriver, home: Path, make: MakeBtrfs, exporter: FakeExporter) -> None:
    origin = share()
    driver.create_share(origin)
    driver.apply_access(origin, [rule("10.0.0.1")])
    (exporter.paths[origin.id] / "file").touch()
    for come_back in (lambda: driver.ensure_share(origin), lambda: make(home)):
        subprocess.run(["umount", str(exporter.paths[origin.id])], check=True, timeout=60)
        come_back()
        assert (exporter.paths[origin.id] / "file").exists()
    assert exporter.rules[origin.id] == {"ip 10.0.0.1 rw"}


def test_other_file_systems_and_simple_quotas_are_refused(make: MakeBtrfs, tmp_path: Path) -> None:
    with loop_filesystem("ext4", tmp_path, 64) as root, pytest.raises(BackendError, match="is not on btrfs"):
        make(root / "b")
    with loop_filesystem("btrfs", tmp_path, 128) as root:
        file = os.open(root, os.O_RDONLY)
        fcntl.ioctl(file, QUOTA_CTL, struct.pack("=QQ", ENABLE_SIMPLE, 0))
        os.close(file)
        with pytest.raises(BackendError, match="has simple quotas"):
            make(root / "b")


def test_many_at_a_time_and_how_long_it_takes(driver: BtrfsDriver, home: Path) -> None:
    shares = [share() for _ in range(40)]

    def timed(work: Callable[[ShareRef], object]) -> float:
        begin = time.monotonic()
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(work, shares))
        return (time.monotonic() - begin) / len(shares)

    points = {each.id: snapshot(each) for each in shares}
    seconds = {
        "create": timed(driver.create_share),
        "snapshot": timed(lambda each: driver.create_snapshot(points[each.id])),
        "ensure": timed(driver.ensure_share),
        "revert": timed(lambda each: driver.revert_to_snapshot(each, points[each.id])),
        "extend": timed(lambda each: driver.extend_share(each, 2)),
        "shrink": timed(lambda each: driver.shrink_share(each, 1)),
        "delete": timed(lambda each: (driver.delete_snapshot(points[each.id]), driver.delete_share(each))),
    }
    logging.getLogger(__name__).info("seconds a call: %s", {name: round(took, 4) for name, took in seconds.items()})
    assert driver.inventory().shares == set()
    assert max(seconds.values()) < 2
