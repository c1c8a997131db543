from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pumice.kernel.drivers import BackendError, NoSpace, ObjectMissing, features
from pumice.share.drivers.base import OPTIONAL, ShareRef, WouldLoseData
from pumice.share.drivers.simulated import SimulatedShareDriver
from tests.share.drivers.conformance import Conformance
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


class TestConformance(Conformance):
    pass


def test_it_has_all_features_and_counts_its_calls(driver: SimulatedShareDriver) -> None:
    assert features(driver, OPTIONAL) == OPTIONAL.keys()
    origin, copy = share(2), share(3, "CIFS")
    point = snapshot(origin)
    assert [(path.path, path.preferred, path.is_admin_only) for path in driver.create_share(origin)] == [
        (f"127.0.0.1:/share-{origin.id}", True, False),
        (f"127.0.0.1:/admin/share-{origin.id}", False, True),
    ]
    assert driver.create_snapshot(point) == f"snapshot-{point.id}"
    assert driver.create_share_from_snapshot(copy, point)[0].path == rf"\\127.0.0.1\share-{copy.id}"
    assert driver.export_snapshot(point)[0].path == f"127.0.0.1:/snapshot-{point.id}"
    [pool] = driver.pools()
    assert (pool.name, pool.total_gb, pool.free_gb, pool.provisioned_gb) == ("sim", 1000, 995, 5)
    assert driver.calls == {
        "create_share": 1,
        "create_snapshot": 1,
        "create_share_from_snapshot": 1,
        "export_snapshot": 1,
    }


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


def test_protocols_that_are_not_exported_are_refused(driver: SimulatedShareDriver) -> None:
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


def test_managing(driver: SimulatedShareDriver) -> None:
    origin = share()
    [path, *_] = driver.create_share(origin)
    with pytest.raises(BackendError, match="is managed already"):
        driver.manage_share(share(), path.path, {})
    driver.unmanage_share(origin)
    with pytest.raises(BackendError, match="is exported by NFS, not by CIFS"):
        driver.manage_share(share(proto="CIFS"), path.path, {})
    with pytest.raises(BackendError, match="is not on the simulated backend"):
        driver.manage_share(share(), "127.0.0.1:/elsewhere", {})
    foreign = driver.put_foreign_share("old", 7)
    assert driver.manage_share(share(), foreign, {})[0] == 7
    assert driver.pools()[0].provisioned_gb == 8


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
