from __future__ import annotations

from pathlib import Path

import pytest

from pumice.block.drivers.base import Connector, Export
from pumice.kernel.drivers import GIB
from tests.block.drivers.conftest import MakeDriver, volume
from tests.support.guest import Guest, Network
from tests.support.open_iscsi import INITIATOR, OpenIscsi, exercise
from tests.support.tgtd import TgtdServer

pytestmark = [pytest.mark.real, pytest.mark.slow]


def test_a_kernels_initiator_uses_a_volume_that_grows_while_it_writes(make_driver: MakeDriver, tmp_path: Path) -> None:
    with Network() as network, TgtdServer(network) as tgtd, Guest(network, tmp_path) as guest:
        driver = make_driver(**tgtd.options)
        disk = volume()
        driver.create_volume(disk)
        export = Export("guest", disk, Connector({"initiator": INITIATOR}))
        info = driver.connect(export)["data"]

        def extend() -> int:
            driver.extend_volume(disk, 2)
            return 2 * GIB

        exercise(guest, info, extend)

        initiator = OpenIscsi(guest)
        device = initiator.login(info)
        guest.run(f"dd if=/dev/zero of={device} bs=64k count=3000 oflag=direct 2> /tmp/dd & echo $! > /tmp/pid")
        for size in (3, 4):
            driver.extend_volume(disk, size)
        guest.run(
            "while kill -0 $(cat /tmp/pid) 2> /dev/null; do sleep 0.2; done; ! grep -i error /tmp/dd", timeout=200
        )
        assert "3000+0 records out" in guest.run("cat /tmp/dd").output
        assert "I/O error" not in guest.run("dmesg").output
        initiator.rescan(info)
        assert int(guest.run(f"blockdev --getsize64 {device}").output) == 4 * GIB
        initiator.logout(info)
        driver.disconnect(export)
        assert disk.id not in tgtd.listing()
