from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pumice.block.drivers.base import OPTIONAL, Connector, Driver, Export, VolumeRef
from pumice.block.drivers.simulated import SimulatedDriver
from pumice.kernel.drivers import BackendError, NoSpace, ObjectMissing, features
from pumice.kernel.simulation import Dial
from tests.block.drivers.conftest import snapshot, volume
from tests.support.sections import section
from tests.support.waiting import LONG

MakeSimulated = Callable[..., SimulatedDriver]


@pytest.fixture
def make(tmp_path: Path) -> MakeSimulated:
    def make(**values: Any) -> SimulatedDriver:
        driver = SimulatedDriver(section(SimulatedDriver, **values), name="sim", state_dir=tmp_path)
        driver.start()
        return driver

    return make


@pytest.fixture(params=["memory", "directory"])
def driver(request: pytest.FixtureRequest, make: MakeSimulated, tmp_path: Path) -> SimulatedDriver:
    return make(simulated_directory=str(tmp_path / "held") if request.param == "directory" else None)


def export_of(of: VolumeRef) -> Export:
    return Export(str(uuid.uuid4()), of, Connector({"initiator": "iqn.2026-01.org.example:host"}))


def test_it_is_a_driver_with_all_features(driver: SimulatedDriver) -> None:
    assert isinstance(driver, Driver)
    assert features(driver, OPTIONAL) == {"snapshots", "clones", "reverts"}


def test_every_call_may_be_made_twice(driver: SimulatedDriver) -> None:
    origin, copy, clone = volume(), volume(3), volume(2)
    point, export = snapshot(origin), export_of(origin)
    for _ in range(2):
        driver.create_volume(origin)
        driver.create_snapshot(point)
        driver.create_volume_from_snapshot(copy, point)
        driver.clone_volume(clone, origin)
        driver.extend_volume(clone, 5)
        driver.revert_to_snapshot(origin, point)
    connections = [driver.connect(export) for _ in range(2)]
    assert connections[0] == connections[1]
    assert connections[0]["data"]["volume_id"] == origin.id
    [pool] = driver.pools()
    assert (pool.name, pool.total_gb, pool.free_gb, pool.provisioned_gb) == ("sim", 1000, 991, 9)
    inventory = driver.inventory()
    assert inventory.volumes == {origin.id, copy.id, clone.id}
    assert (inventory.snapshots, inventory.exports) == ({point.id}, {export.id})
    for _ in range(2):
        driver.disconnect(export)
        driver.delete_snapshot(point)
        for each in (origin, copy, clone):
            driver.delete_volume(each)
    assert driver.pools()[0].provisioned_gb == 0
    assert not any((driver.inventory().volumes, driver.inventory().snapshots, driver.inventory().exports))
    assert driver.calls["create_volume"] == 2


def test_an_export_is_made_again_as_it_was(driver: SimulatedDriver) -> None:
    origin = volume()
    driver.create_volume(origin)
    export = export_of(origin)
    connection = driver.connect(export)
    driver.lose(export.id)
    assert driver.inventory().exports == frozenset()
    assert driver.connect(with_connection(export, connection)) == connection
    assert driver.inventory().exports == {export.id}


def with_connection(export: Export, connection: Any) -> Export:
    return Export(export.id, export.volume, export.connector, connection=connection)


def test_missing_sources(driver: SimulatedDriver) -> None:
    gone = volume()
    for call in (
        lambda: driver.clone_volume(volume(), gone),
        lambda: driver.create_snapshot(snapshot(gone)),
        lambda: driver.create_volume_from_snapshot(volume(), snapshot(gone)),
        lambda: driver.extend_volume(gone, 2),
        lambda: driver.connect(export_of(gone)),
    ):
        with pytest.raises(ObjectMissing, match="is not on the simulated backend"):
            call()
    assert driver.inventory().volumes == frozenset()


def test_room_ends_exactly(make: MakeSimulated) -> None:
    driver = make(simulated_capacity_gb=20)

    def create(_: int) -> bool:
        try:
            driver.create_volume(volume())
        except NoSpace:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(create, range(40))) == 20
    thin = make(simulated_capacity_gb=20, simulated_thin=True)
    thin.create_volume(volume(30))
    assert (thin.pools()[0].free_gb, thin.pools()[0].provisioned_gb) == (20, 30)


def test_faults_from_python(driver: SimulatedDriver) -> None:
    first, second = VolumeRef("aa1", 1), VolumeRef("bb2", 1)
    driver.dial("create_volume", match="aa", fail="the disk is on fire", fail_times=2)
    driver.dial("create_volume", match="bb", no_space=True)
    for _ in range(2):
        with pytest.raises(BackendError, match="the disk is on fire"):
            driver.create_volume(first)
    with pytest.raises(NoSpace):
        driver.create_volume(second)
    driver.create_volume(first)
    driver.undial()
    driver.create_volume(second)
    driver.dial("delete_volume", fail="no answer", after=True)
    with pytest.raises(BackendError, match="no answer"):
        driver.delete_volume(second)
    assert driver.inventory().volumes == {"aa1"}
    driver.dial("*", gone=True)
    driver.undial()
    driver.dial("delete_volume", gone=True)
    driver.delete_volume(first)
    assert driver.inventory().volumes == frozenset()


def test_latency(make: MakeSimulated) -> None:
    driver = make(simulated_latency=0.05)
    begin = time.monotonic()
    driver.create_volume(volume())
    assert time.monotonic() - begin >= 0.05
    quick = make(simulated_latency=2 * LONG)
    quick.dial("create_volume", latency=0)
    begin = time.monotonic()
    quick.create_volume(volume())
    assert time.monotonic() - begin < LONG


@pytest.mark.parametrize("end", ["release", "stop"])
def test_a_hanging_call_ends(end: str, make: MakeSimulated) -> None:
    driver = make()
    driver.dial("create_volume", hang=True)
    outcome: list[str] = []

    def create() -> None:
        try:
            driver.create_volume(volume())
            outcome.append("made")
        except BackendError as error:
            outcome.append(str(error))

    thread = threading.Thread(target=create)
    thread.start()
    thread.join(0.05)
    assert thread.is_alive()
    getattr(driver, end)()
    thread.join(LONG)
    expected = {"release": "made", "stop": "create_volume was cut off: the simulated backend stopped"}
    assert outcome == [expected[end]]


def test_faults_from_a_file(make: MakeSimulated, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    driver = make(simulated_script=str(script))
    driver.create_volume(volume())

    def write(**faults: Any) -> None:
        draft = tmp_path / "draft"
        draft.write_bytes(msgspec.json.encode(faults))
        draft.replace(script)

    write(create_volume={"fail": "text", "fail_times": 1})
    with pytest.raises(BackendError, match="text"):
        driver.create_volume(volume())
    driver.create_volume(volume())
    write(create_volume=[{"match": "x", "fail": "x only"}, {"match": "y", "fail": "y only"}])
    with pytest.raises(BackendError, match="y only"):
        driver.create_volume(VolumeRef("y1", 1))
    driver.create_volume(volume())
    write(create_volume={"fial": "text"})
    with pytest.raises(BackendError, match=r"simulated_script .* is refused: .*fial"):
        driver.create_volume(volume())
    script.unlink()
    driver.create_volume(volume())
    with pytest.raises(TypeError, match="fial"):
        Dial(fial="text")  # type: ignore[call-arg]


def create_and_die(directory: str, new: VolumeRef) -> None:
    options = section(SimulatedDriver, simulated_directory=directory)
    driver = SimulatedDriver(options, name="sim", state_dir=Path(directory))
    driver.start()
    driver.create_volume(new)
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_state_outlives_a_killed_process(make: MakeSimulated, tmp_path: Path) -> None:
    directory = str(tmp_path / "held")
    kept = volume(7)
    child = multiprocessing.get_context("spawn").Process(target=create_and_die, args=(directory, kept))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    (tmp_path / "held" / "volumes" / ".draft").touch()
    driver = make(simulated_directory=directory)
    assert driver.inventory().volumes == {kept.id}
    assert driver.pools()[0].provisioned_gb == 7


def test_thousands_of_volumes_and_pools_are_fast(make: MakeSimulated, tmp_path: Path) -> None:
    driver = make(simulated_directory=str(tmp_path / "held"), simulated_pools=10_000, simulated_capacity_gb=10)
    pools = driver.pools()
    assert len({pool.name for pool in pools}) == 10_000
    begin = time.process_time()
    for number in range(2000):
        driver.create_volume(VolumeRef(str(uuid.uuid4()), 1, pool=pools[number].name))
    assert time.process_time() - begin < 2
    begin = time.process_time()
    assert sum(pool.provisioned_gb for pool in driver.pools()) == 2000
    assert time.process_time() - begin < 1
