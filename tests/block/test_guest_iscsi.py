from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.guest import Guest, GuestError, Network
from tests.support.open_iscsi import INITIATOR, exercise

GIB = 2**30
IQN = "iqn.2010-10.org.openstack:volume-of-a-guest"

pytestmark = [pytest.mark.real, pytest.mark.slow]


class Target:
    """A tgtd of its own in the guests' network, with one target that CHAP and an initiator name guard."""

    def __init__(self, network: Network, image: Path) -> None:
        self.image = image
        os.truncate(image, GIB)
        self.control = str(os.getpid())
        self.process = subprocess.Popen(
            network.inside("tgtd", "-f", "-C", self.control, "--iscsi", f"portal={network.address}:3260"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 10
        while self.ask("--mode", "target", "--op", "new", "--tid", "1", "-T", IQN, check=False):
            assert time.monotonic() < deadline, "tgtd did not come up"
            time.sleep(0.05)
        self.show_lun()
        self.ask("--mode", "account", "--op", "new", "--user", "guest", "--password", "abcdef0123456789")
        self.ask("--mode", "account", "--op", "bind", "--tid", "1", "--user", "guest")
        self.ask("--mode", "target", "--op", "bind", "--tid", "1", "--initiator-name", INITIATOR)

    def ask(self, *words: str, check: bool = True) -> int:
        command = ["tgtadm", "-C", self.control, "--lld", "iscsi", *words]
        return subprocess.run(command, check=check, timeout=10, capture_output=True).returncode

    def show_lun(self) -> None:
        lun = ("--tid", "1", "--lun", "1", "--backing-store", str(self.image))
        self.ask("--mode", "logicalunit", "--op", "new", *lun)

    def extend(self) -> int:
        os.truncate(self.image, 2 * GIB)
        self.ask("--mode", "logicalunit", "--op", "delete", "--tid", "1", "--lun", "1")
        self.show_lun()
        return 2 * GIB

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for leftover in Path("/var/run/tgtd").glob(f"socket.{self.control}*"):
            leftover.unlink()


@pytest.fixture
def network() -> Iterator[Network]:
    with Network() as network:
        yield network


@pytest.fixture
def target(network: Network, tmp_path: Path) -> Iterator[Target]:
    image = tmp_path / "volume"
    image.touch()
    target = Target(network, image)
    yield target
    target.close()


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


def test_a_volume_at_a_server(network: Network, target: Target, tmp_path: Path) -> None:
    info = {
        "target_discovered": False,
        "target_portal": f"{network.address}:3260",
        "target_iqn": IQN,
        "target_lun": 1,
        "auth_method": "CHAP",
        "auth_username": "guest",
        "auth_password": "abcdef0123456789",
    }
    with Guest(network, tmp_path) as guest:
        exercise(guest, info, target.extend)
