from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from pumice.block.drivers.base import Connector, Export
from pumice.block.drivers.file import FileDriver
from pumice.kernel.drivers import GIB
from tests.block.drivers.conftest import volume
from tests.support.guest import Guest, GuestError, Network
from tests.support.open_iscsi import INITIATOR, exercise
from tests.support.relay import Relay, listener_inside
from tests.support.sections import section
from tests.support.tgtd import TgtdServer

pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.fixture
def network() -> Iterator[Network]:
    with Network() as network:
        yield network


def test_a_guest_runs_commands_on_a_kernel_of_its_own(network: Network, tmp_path: Path) -> None:
    with Guest(network, tmp_path) as guest:
        assert guest.run("uname -r").output.strip() != os.uname().release
        failed = guest.run("echo out; echo err >&2; exit 3", check=False)
        assert (failed.status, failed.output, failed.errors) == (3, "out\n", "err\n")
        with pytest.raises(GuestError, match="ended with 1"):
            guest.run("false")
        guest.run("echo mine > /etc/written-by-a-guest")
        with Guest(network, tmp_path, name="neighbour") as neighbour, pytest.raises(GuestError, match="no answer"):
            neighbour.run("sleep 60", timeout=0.5)
    assert not Path("/etc/written-by-a-guest").exists()


def test_a_volume_of_the_file_backend_at_a_server(network: Network, tmp_path: Path) -> None:
    with (
        TgtdServer() as tgtd,
        Relay(tgtd.port, listener_inside(network.inside, network.address, tgtd.port)),
        Guest(network, tmp_path) as guest,
    ):
        options = section(FileDriver, directory=str(tmp_path / "backend"), **tgtd.options)
        driver = FileDriver(options, name="files", state_dir=tmp_path)
        driver.start()
        disk = volume(1)
        driver.create_volume(disk)
        connector = Connector({"initiator": INITIATOR, "host": guest.name})
        info = driver.connect(Export(str(uuid.uuid4()), disk, connector, False))["data"]

        def extend() -> int:
            driver.extend_volume(disk, 2)
            return 2 * GIB

        exercise(guest, {**info, "target_portal": f"{network.address}:{tgtd.port}"}, extend)
