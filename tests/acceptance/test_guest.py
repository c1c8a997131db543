"""A server's own kernel uses a volume of the running Pumice: open-iscsi, a file system, and all that goes wrong."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.running import Member, Pumice
from tests.support.guest import Guest, Network
from tests.support.open_iscsi import INITIATOR, OpenIscsi
from tests.support.relay import Relay, listener_inside

pytestmark = [pytest.mark.real, pytest.mark.slow]

GIB = 2**30


def test_a_server_keeps_its_files(pumice: Pumice, member: Member, tmp_path: Path) -> None:
    with (
        Network() as network,
        Relay(pumice.iscsi_port, listener_inside(network.inside, network.address, pumice.iscsi_port)),
        Guest(network, tmp_path) as guest,
    ):

        def attach() -> dict[str, Any]:
            info = member.attach(volume, INITIATOR)
            return {**info, "target_portal": f"{network.address}:{pumice.iscsi_port}"}

        volume = member.make(size=1)
        initiator = OpenIscsi(guest)
        info = attach()
        device = initiator.login(info)
        guest.run(f"mkfs.ext4 -q {device} && mount {device} /mnt")
        written = guest.run("yes pumice | head -c 20000000 | tee /mnt/file | sha256sum; sync").output

        before = pumice.tgtd_pid()
        assert before
        os.kill(before, signal.SIGKILL)
        guest.run("dd if=/dev/zero of=/mnt/later bs=1M count=8 conv=fsync status=none", timeout=60)
        assert pumice.tgtd_pid() not in (None, before)

        member.act(volume, "os-extend", {"new_size": 2}, "in-use")
        initiator.rescan(info)
        assert int(guest.run(f"blockdev --getsize64 {device}").output) == 2 * GIB
        guest.run("umount /mnt")
        initiator.logout(info)
        member.detach(info)
        assert pumice.targets() == ""

        info = attach()
        device = initiator.login(info)
        guest.run(f"fsck.ext4 -fn {device} && mount {device} /mnt")
        assert guest.run("sha256sum < /mnt/file").output == written
        assert int(guest.run("stat -c %s /mnt/later").output) == 8 * 2**20
        guest.run("umount /mnt")
        initiator.logout(info)
