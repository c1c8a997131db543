"""What every driver of volumes must keep, as tests: each call is made twice.

    class TestMine(Conformance):
        @pytest.fixture
        def driver(self, tmp_path: Path) -> Iterator[Driver]:
            driver = MyDriver(section(MyDriver, my_address="…"), name="mine", state_dir=tmp_path)
            driver.start()
            yield driver
            driver.stop()

What a driver cannot do is not asked of it. The backend holds nothing else when a test begins.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from pumice.block.drivers.base import (
    OPTIONAL,
    Clones,
    Connector,
    Driver,
    Export,
    Inventory,
    Reverts,
    SnapshotRef,
    Snapshots,
    VolumeRef,
)
from pumice.kernel.db.base import new_id
from pumice.kernel.drivers import ObjectMissing, features
from tests.block.drivers.conftest import snapshot, volume

EMPTY = Inventory(frozenset(), frozenset(), frozenset())
CONNECTOR = Connector({"host": "here", "ip": "127.0.0.1", "initiator": "iqn.2026-11.example:here"})


def twice(call: Callable[..., object], *arguments: object) -> None:
    for _ in range(2):
        call(*arguments)


def made(driver: Driver, size: int = 1) -> VolumeRef:
    new = volume(size)
    driver.create_volume(new)
    return new


def clear(driver: Driver, *things: VolumeRef | SnapshotRef) -> None:
    """Delete these, each twice, and see that nothing is left."""
    for thing in things:
        if isinstance(thing, VolumeRef):
            twice(driver.delete_volume, thing)
        elif isinstance(driver, Snapshots):
            twice(driver.delete_snapshot, thing)
    assert driver.inventory() == EMPTY


class Conformance:
    def test_it_says_what_it_is(self, driver: Driver) -> None:
        assert isinstance(driver, Driver)
        assert all((driver.vendor, driver.version, driver.protocol))
        assert features(driver, OPTIONAL) == features(type(driver), OPTIONAL)
        names = [option.dest for option in type(driver).options]  # type: ignore[attr-defined]
        assert len(names) == len(set(names))

    def test_volumes(self, driver: Driver) -> None:
        new = volume()
        twice(driver.create_volume, new)
        twice(driver.extend_volume, new, 2)
        assert driver.inventory() == replace(EMPTY, volumes=frozenset({new.id}))
        clear(driver, new)

    def test_a_start_keeps_what_is_there(self, driver: Driver) -> None:
        new = made(driver)
        twice(driver.start)
        assert driver.inventory().volumes == {new.id}
        clear(driver, new)

    def test_statistics(self, driver: Driver) -> None:
        before = {pool.name: pool.provisioned_gb for pool in driver.pools()}
        new = made(driver, 3)
        after = {pool.name: pool.provisioned_gb for pool in driver.pools()}
        assert before.keys() == after.keys()
        assert sum(after.values()) - sum(before.values()) == pytest.approx(3, abs=0.1)
        clear(driver, new)

    def test_snapshots(self, driver: Driver) -> None:
        if not isinstance(driver, Snapshots):
            return
        origin, copy = made(driver), volume(2)
        point = snapshot(origin)
        twice(driver.create_snapshot, point)
        twice(driver.create_volume_from_snapshot, copy, point)
        assert driver.inventory() == replace(
            EMPTY, volumes=frozenset({origin.id, copy.id}), snapshots=frozenset({point.id})
        )
        clear(driver, point, origin, copy)

    def test_clones(self, driver: Driver) -> None:
        if not isinstance(driver, Clones):
            return
        origin, copy = made(driver), volume(2)
        twice(driver.clone_volume, copy, origin)
        driver.delete_volume(origin)
        assert driver.inventory().volumes == {copy.id}
        clear(driver, copy)

    def test_reverts(self, driver: Driver) -> None:
        if not (isinstance(driver, Reverts) and isinstance(driver, Snapshots)):
            return
        origin = made(driver)
        point = snapshot(origin)
        driver.create_snapshot(point)
        twice(driver.revert_to_snapshot, origin, point)
        assert driver.inventory().snapshots == {point.id}
        clear(driver, point, origin)

    def test_what_is_missing_is_told(self, driver: Driver) -> None:
        there, gone = made(driver), volume()
        lost = snapshot(there)
        calls: list[Callable[[], object]] = [lambda: driver.extend_volume(gone, 2)]
        if isinstance(driver, Snapshots):
            calls.append(lambda: driver.create_snapshot(snapshot(gone)))
            calls.append(lambda: driver.create_volume_from_snapshot(volume(), lost))
        if isinstance(driver, Clones):
            calls.append(lambda: driver.clone_volume(volume(), gone))
        if isinstance(driver, Reverts):
            calls.append(lambda: driver.revert_to_snapshot(there, lost))
        for call in calls:
            with pytest.raises(ObjectMissing):
                call()
        clear(driver, there)

    def test_exports(self, driver: Driver) -> None:
        new = made(driver)
        one, other = (Export(new_id(), new, CONNECTOR) for _ in range(2))
        twice(driver.connect, one)
        connection = driver.connect(one)  # the last one counts: it is what gets into the rows
        assert isinstance(connection["driver_volume_type"], str)
        assert isinstance(connection["data"], dict)
        assert driver.connect(other) != connection
        assert driver.inventory().exports == {one.id, other.id}
        assert driver.exports() == {one.id: one.volume.id, other.id: other.volume.id}
        twice(driver.disconnect, one)
        assert driver.inventory().exports == {other.id}
        # What is in the rows is made again with its names and its secrets, as after a restart of the target server.
        kept = replace(one, connection=connection)
        assert driver.connect(kept) == connection
        assert driver.inventory().exports == {one.id, other.id}
        for export in (kept, other):
            twice(driver.disconnect, export)
        clear(driver, new)

    def test_calls_for_different_volumes_at_the_same_time(self, driver: Driver) -> None:
        new = [volume() for _ in range(8)]
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(driver.create_volume, new))
            assert driver.inventory().volumes == {one.id for one in new}
            list(threads.map(driver.delete_volume, new))
        clear(driver)
