"""What every driver of shares must keep, as tests: each call is made twice.

    class TestMine(Conformance):
        @pytest.fixture
        def driver(self, tmp_path: Path) -> Iterator[ShareDriver]:
            driver = MyDriver(section(MyDriver, my_address="…"), name="mine", state_dir=tmp_path)
            driver.start()
            yield driver
            driver.stop()

What a driver cannot do is not asked of it. The backend holds nothing else when a test begins, exports by NFS, and has
room for some GiB.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from pumice.kernel.drivers import BackendError, ObjectMissing
from pumice.share.drivers.base import (
    FromSnapshots,
    Inventory,
    Manages,
    MountableSnapshots,
    Reverts,
    ShareDriver,
    ShareRef,
    SnapshotRef,
    Snapshots,
)
from tests.share.drivers.conftest import rule, share, snapshot

EMPTY = Inventory(frozenset(), frozenset())
RW = rule("10.0.0.1")
RO = rule("10.0.1.0/24", level="ro")


class Conformance:
    def test_shares(self, driver: ShareDriver) -> None:
        assert isinstance(driver, ShareDriver)
        first, second = share(2), share(1)
        for one in (first, second):
            paths = [driver.create_share(one), driver.create_share(one), driver.ensure_share(one)]
            assert paths[0]
            assert paths == [paths[0]] * 3
        for _ in range(2):
            driver.extend_share(first, 4)
            driver.shrink_share(first, 3)
        driver.extend_share(first, 2)
        assert sum(pool.provisioned_gb for pool in driver.pools()) == 4
        inventory = driver.inventory()
        assert inventory.shares == {first.id, second.id}
        assert inventory.exports == {first.id: frozenset(), second.id: frozenset()}
        for one in (first, second, first):
            driver.delete_share(one)
        assert driver.inventory() == EMPTY
        assert sum(pool.provisioned_gb for pool in driver.pools()) == 0

    def test_the_id_alone_removes_a_share(self, driver: ShareDriver) -> None:
        one = share()
        driver.create_share(one)
        driver.delete_share(ShareRef(one.id, 0, ""))
        assert driver.inventory() == EMPTY

    def test_rules_are_a_set(self, driver: ShareDriver) -> None:
        one, other = share(), share()
        for each in (one, other):
            driver.create_share(each)
        unknown = rule("somebody", "starsign")
        for wanted, enforced in (
            ([RW], {"ip 10.0.0.1 rw"}),
            ([RW, RO], {"ip 10.0.0.1 rw", "ip 10.0.1.0/24 ro"}),
            ([unknown, replace(RW, level="ro")], {"ip 10.0.0.1 ro"}),
            ([RO], {"ip 10.0.1.0/24 ro"}),
            ([], set()),
        ):
            for _ in range(2):
                applied = driver.apply_access(one, wanted)
                assert {id for id, how in applied.items() if how.error is None} == {
                    each.id for each in wanted if each is not unknown
                }
                assert driver.inventory().exports == {one.id: enforced, other.id: set()}
        driver.apply_access(one, [RW])
        driver.ensure_share(one)
        assert driver.inventory().exports[one.id] == {"ip 10.0.0.1 rw"}
        assert driver.exports() == {one.id, other.id}
        for each in (one, other):
            driver.delete_share(each)

    def test_snapshots(self, driver: ShareDriver) -> None:
        if not isinstance(driver, Snapshots):
            return
        origin, copy = share(), share(2)
        point = snapshot(origin)
        driver.create_share(origin)
        assert driver.create_snapshot(point) == driver.create_snapshot(point)
        assert driver.inventory().snapshots == {point.id}
        driver.apply_access(origin, [RW])
        for _ in range(2):
            if isinstance(driver, FromSnapshots):
                assert driver.create_share_from_snapshot(copy, point)
            if isinstance(driver, Reverts):
                driver.revert_to_snapshot(origin, point)
                assert driver.inventory().exports[origin.id] == {"ip 10.0.0.1 rw"}
            if isinstance(driver, MountableSnapshots):
                assert driver.export_snapshot(point)
                driver.apply_snapshot_access(point, [RW])
                assert driver.inventory().exports[point.id] == {"ip 10.0.0.1 ro"}
        driver.delete_share(origin)
        driver.delete_share(copy)
        nameless = SnapshotRef(point.id, ShareRef(origin.id, 0, ""), 0)
        for _ in range(2):
            driver.delete_snapshot(nameless)
        assert driver.inventory() == EMPTY

    def test_what_is_missing_is_named(self, driver: ShareDriver) -> None:
        gone, there = share(), share()
        driver.create_share(there)
        point = snapshot(gone)
        calls = [
            lambda: driver.ensure_share(gone),
            lambda: driver.extend_share(gone, 2),
            lambda: driver.shrink_share(gone, 1),
            lambda: driver.apply_access(gone, []),
        ]
        if isinstance(driver, Snapshots):
            calls.append(lambda: driver.create_snapshot(point))
        if isinstance(driver, FromSnapshots):
            calls.append(lambda: driver.create_share_from_snapshot(gone, point))
        if isinstance(driver, Reverts):
            calls.append(lambda: driver.revert_to_snapshot(there, point))
        if isinstance(driver, MountableSnapshots):
            calls.append(lambda: driver.export_snapshot(point))
            calls.append(lambda: driver.apply_snapshot_access(point, []))
        for call in calls:
            with pytest.raises(ObjectMissing):
                call()
        assert driver.inventory().shares == {there.id}
        assert driver.inventory().leftovers == frozenset()
        driver.delete_share(there)

    def test_what_is_unmanaged_is_found_again_by_its_path(self, driver: ShareDriver) -> None:
        if not isinstance(driver, Manages) or not isinstance(driver, Snapshots):
            return
        origin, taken = share(2), share(0)
        [path, *_] = driver.create_share(origin)
        point = snapshot(origin)
        place = driver.create_snapshot(point)
        again = replace(snapshot(taken), provider_location=place)
        with pytest.raises(BackendError):
            driver.manage_share(taken, path.path, {})
        for _ in range(2):
            driver.unmanage_snapshot(point)
            driver.unmanage_share(origin)
        assert driver.inventory() == EMPTY
        for _ in range(2):
            size, paths = driver.manage_share(taken, path.path, {})
            assert size == 2
            assert paths
            assert driver.manage_snapshot(again, place, {}) >= 1
        with pytest.raises(BackendError):
            driver.manage_share(share(), f"{path.path}-of-nobody", {})
        inventory = driver.inventory()
        assert (inventory.shares, inventory.snapshots) == ({taken.id}, {again.id})
        driver.delete_snapshot(again)
        driver.delete_share(taken)
        assert driver.inventory() == EMPTY
