from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pumice.kernel.drivers import BackendError, NoSpace, ObjectMissing
from pumice.share.drivers.base import ShareDriver, ShareRef, WouldLoseData, features
from pumice.share.drivers.simulated import SimulatedShareDriver
from tests.share.drivers.conftest import rule, share, snapshot
from tests.support.sections import section

MakeSimulated = Callable[..., SimulatedShareDriver]


@pytest.fixture
def make(tmp_path: Path) -> MakeSimulated:
    def make(**values: Any) -> SimulatedShareDriver:
        driver = SimulatedShareDriver(section(SimulatedShareDriver, **values), name="sim", state_dir=tmp_path)
        driver.start()
        return driver

    return make


@pytest.fixture(params=["memory", "directory"])
def driver(request: pytest.FixtureRequest, make: MakeSimulated) -> SimulatedShareDriver:
    return make(simulated_directory="held" if request.param == "directory" else None)


def test_it_is_a_driver_with_all_features(driver: SimulatedShareDriver) -> None:
    assert isinstance(driver, ShareDriver)
    assert features(driver) == {
        "snapshots",
        "create_share_from_snapshot",
        "revert_to_snapshot",
        "mount_snapshot",
        "manage",
    }


def test_every_call_may_be_made_twice(driver: SimulatedShareDriver) -> None:
    origin, copy = share(2), share(3, "CIFS")
    point = snapshot(origin)
    allowed = rule("10.0.0.1")
    for _ in range(2):
        paths = driver.create_share(origin)
        assert [(path.path, path.preferred, path.is_admin_only) for path in paths] == [
            (f"127.0.0.1:/share-{origin.id}", True, False),
            (f"127.0.0.1:/admin/share-{origin.id}", False, True),
        ]
        assert driver.ensure_share(origin) == paths
        assert driver.create_snapshot(point) == f"snapshot-{point.id}"
        assert driver.create_share_from_snapshot(copy, point)[0].path == rf"\\127.0.0.1\share-{copy.id}"
        driver.extend_share(copy, 5)
        driver.shrink_share(copy, 4)
        driver.revert_to_snapshot(origin, point)
        assert driver.export_snapshot(point)[0].path == f"127.0.0.1:/snapshot-{point.id}"
        assert driver.apply_access(origin, [allowed])[allowed.id].error is None
        assert driver.apply_snapshot_access(point, [allowed])[allowed.id].error is None
    [pool] = driver.pools()
    assert (pool.name, pool.total_gb, pool.free_gb, pool.provisioned_gb) == ("sim", 1000, 994, 6)
    inventory = driver.inventory()
    assert (inventory.shares, inventory.snapshots) == ({origin.id, copy.id}, {point.id})
    assert inventory.exports == {origin.id: {"ip 10.0.0.1 rw"}, copy.id: set(), point.id: {"ip 10.0.0.1 ro"}}
    for _ in range(2):
        driver.delete_snapshot(point)
        driver.delete_share(origin)
        driver.delete_share(copy)
    inventory = driver.inventory()
    assert not any((inventory.shares, inventory.snapshots, inventory.exports))
    assert driver.pools()[0].provisioned_gb == 0


def test_a_bad_rule_fails_alone(driver: SimulatedShareDriver) -> None:
    origin = share()
    driver.create_share(origin)
    good, user, dialled = rule("10.0.0.1"), rule("bob", "user"), rule("10.0.0.9")
    driver.dial("access_rule", match="10.0.0.9", fail="no such client")
    applied = driver.apply_access(origin, [good, user, dialled])
    assert {id: one.error for id, one in applied.items()} == {
        good.id: None,
        user.id: "rules of type user are not enforced for NFS",
        dialled.id: "no such client",
    }
    assert driver.inventory().exports[origin.id] == {"ip 10.0.0.1 rw"}
    driver.undial()
    driver.apply_access(origin, [dialled])
    assert driver.inventory().exports[origin.id] == {"ip 10.0.0.9 rw"}


def test_keys_of_cephx_users_stay_theirs(make: MakeSimulated) -> None:
    driver = make(simulated_protocols=["CEPHFS"])
    origin = share(proto="CEPHFS")
    driver.create_share(origin)
    alice, bob = rule("alice", "cephx"), rule("bob", "cephx")
    key = driver.apply_access(origin, [alice])[alice.id].key
    both = driver.apply_access(origin, [bob, alice])
    assert key
    assert both[alice.id].key == key
    assert both[bob.id].key not in {None, key}


def test_sizes(make: MakeSimulated) -> None:
    driver = make(simulated_capacity_gb=10)
    origin = share(6)
    driver.create_share(origin)
    with pytest.raises(NoSpace):
        driver.create_share(share(5))
    with pytest.raises(NoSpace):
        driver.extend_share(origin, 11)
    driver.fill(origin.id, 3)
    with pytest.raises(WouldLoseData, match="3 GiB are used"):
        driver.shrink_share(origin, 2)
    driver.shrink_share(origin, 3)
    driver.shrink_share(origin, 4)
    assert driver.pools()[0].provisioned_gb == 3


def test_missing_sources(driver: SimulatedShareDriver) -> None:
    gone = share()
    for call in (
        lambda: driver.ensure_share(gone),
        lambda: driver.extend_share(gone, 2),
        lambda: driver.apply_access(gone, []),
        lambda: driver.create_snapshot(snapshot(gone)),
        lambda: driver.create_share_from_snapshot(share(), snapshot(gone)),
        lambda: driver.export_snapshot(snapshot(gone)),
    ):
        with pytest.raises(ObjectMissing, match="is not on the simulated backend"):
            call()
    with pytest.raises(BackendError, match="protocol 'HDFS' is refused: NFS, CIFS"):
        driver.create_share(share(proto="HDFS"))


def test_lost_exports_are_made_again(driver: SimulatedShareDriver) -> None:
    origin = share()
    driver.create_share(origin)
    driver.forget_export(origin.id)
    assert driver.inventory().exports == {}
    with pytest.raises(ObjectMissing, match=r"export .* is not on the simulated backend"):
        driver.apply_access(origin, [])
    driver.ensure_share(origin)
    assert driver.inventory().exports == {origin.id: set()}
    driver.dial("ensure_share", gone=True, match=origin.share_id)
    with pytest.raises(ObjectMissing):
        driver.ensure_share(origin)
    assert driver.inventory().shares == set()


def test_what_is_unmanaged_is_found_again_by_its_path(driver: SimulatedShareDriver) -> None:
    origin, taken = share(2), share(0)
    [path, *_] = driver.create_share(origin)
    point = snapshot(origin)
    place = driver.create_snapshot(point)
    new_point = replace(snapshot(taken), size=0, provider_location=place)
    with pytest.raises(BackendError, match="is managed already"):
        driver.manage_share(taken, path.path, {})
    for _ in range(2):
        driver.unmanage_snapshot(point)
        driver.unmanage_share(origin)
    assert driver.inventory().shares == driver.inventory().snapshots == set()
    assert driver.pools()[0].provisioned_gb == 2
    with pytest.raises(BackendError, match="is exported by NFS, not by CIFS"):
        driver.manage_share(share(proto="CIFS"), path.path, {})
    for _ in range(2):
        size, paths = driver.manage_share(taken, path.path, {})
        assert (size, paths[0]) == (2, path)
        assert driver.manage_snapshot(new_point, place, {}) == 2
    assert (driver.inventory().shares, driver.inventory().snapshots) == ({taken.id}, {new_point.id})
    with pytest.raises(BackendError, match="is not on the simulated backend"):
        driver.manage_share(share(), "127.0.0.1:/elsewhere", {})
    foreign = driver.put_foreign_share("old", 7)
    assert driver.manage_share(share(), foreign, {})[0] == 7
    assert driver.pools()[0].provisioned_gb == 9


def test_mount_point_names(driver: SimulatedShareDriver) -> None:
    assert driver.create_share(share(mount_point_name="mine"))[0].path == "127.0.0.1:/mine"


def test_statistics_say_what_is_kept_back(make: MakeSimulated) -> None:
    [pool] = make(reserved_share_percentage=10, reserved_share_extend_percentage=5, simulated_thin=True).pools()
    assert pool.reserved_percentage == 10
    assert pool.extra["reserved_snapshot_percentage"] == 10
    assert pool.extra["reserved_share_extend_percentage"] == 5


def create_and_die(directory: str, new: ShareRef) -> None:
    options = section(SimulatedShareDriver, simulated_directory=directory)
    driver = SimulatedShareDriver(options, name="sim", state_dir=Path(directory))
    driver.start()
    driver.create_share(new)
    driver.apply_access(new, [rule("10.0.0.1")])
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_state_outlives_a_killed_process(make: MakeSimulated, tmp_path: Path) -> None:
    directory = str(tmp_path / "held")
    kept = share(7)
    child = multiprocessing.get_context("spawn").Process(target=create_and_die, args=(directory, kept))
    child.start()
    child.join(30)
    assert child.exitcode == -signal.SIGKILL
    driver = make(simulated_directory=directory)
    assert driver.inventory().exports == {kept.id: {"ip 10.0.0.1 rw"}}
    assert driver.pools()[0].provisioned_gb == 7


def test_a_thousand_shares_are_made_sure_of_at_once(make: MakeSimulated) -> None:
    driver = make(simulated_directory="held")
    shares = [share() for _ in range(1000)]
    for each in shares:
        driver.create_share(each)
    begin = time.process_time()
    for each in shares:
        driver.ensure_share(each)
        driver.apply_access(each, [rule("10.0.0.1")])
    assert time.process_time() - begin < 3
    assert len(driver.inventory().exports) == 1000
