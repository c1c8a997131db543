from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pumice.share.drivers.base import Rule
from tests.support.ganesha import ganesha_server
from tests.support.guest import Guest, Network

pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.fixture
def network() -> Iterator[Network]:
    with Network() as network:
        yield network


def test_a_machine_goes_on_when_the_server_is_restarted(network: Network, tmp_path: Path) -> None:
    with ganesha_server(tmp_path, network) as server, Guest(network, tmp_path) as guest:
        exporter = server.exporter()
        exporter.start()
        for version in ("4.1", "3,nolock"):
            share = tmp_path / version
            share.mkdir()
            [location] = exporter.export("one", share, "first")
            exporter.apply("one", [Rule("all", "ip", "10.99.0.0/24")])
            guest.run(f"mount -t nfs -o vers={version} {location.path} /mnt")
            guest.run(
                "(for n in $(seq 20); do echo $n || exit; sync /mnt/log; sleep 0.1; done) > /mnt/log 2>/tmp/trouble &\n"
                "echo $! > /tmp/writer; while [ ! -s /mnt/log ]; do sleep 0.1; done"
            )
            os.kill(server.pid, signal.SIGKILL)
            while server.alive:
                time.sleep(0.05)
            assert server.check()
            guest.run("while kill -0 $(cat /tmp/writer) 2>/dev/null; do sleep 0.1; done; umount /mnt", timeout=120)
            assert guest.run("cat /tmp/trouble").output == ""
            assert (share / "log").read_text().split() == [str(n) for n in range(1, 21)]
