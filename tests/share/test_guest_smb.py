from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pumice.share.drivers.base import Applied, Rule
from tests.support.guest import Guest, GuestError, Network
from tests.support.mounting import smb
from tests.support.samba import add_user, open_directory, samba_server

pytestmark = [pytest.mark.real, pytest.mark.slow]

USER, OTHER = "games", "mail"


@pytest.fixture
def network() -> Iterator[Network]:
    with Network() as network:
        yield network


def test_who_loses_access_is_disconnected_and_nobody_else(network: Network, tmp_path: Path) -> None:
    with (
        open_directory() as share,
        samba_server(tmp_path, network) as server,
        Guest(network, tmp_path) as guest,
        Guest(network, tmp_path, name="stranger") as stranger,
    ):
        exporter = server.exporter()
        exporter.start()
        [location] = exporter.export("one", share, "first")
        rules = [Rule(machine.name, "ip", machine.address.split("/")[0]) for machine in (guest, stranger)]
        assert set(exporter.apply("one", rules).values()) == {Applied()}
        for machine in (guest, stranger):
            machine.run(f"mount {smb(location.path)} /mnt && echo mine > /mnt/{machine.name}")
        exporter.apply("one", rules[:1])
        guest.run("echo undisturbed > /mnt/file && sync /mnt/file && umount /mnt")
        assert stranger.run("echo 3 > /proc/sys/vm/drop_caches; ls /mnt", check=False).status

        add_user(server, USER)
        add_user(server, OTHER)
        exporter.apply("one", [Rule("user", "user", USER)])
        for who in (OTHER, None):
            with pytest.raises(GuestError, match="Permission denied"):
                guest.run(f"mount {smb(location.path, who)} /mnt")
        guest.run(f"mount {smb(location.path, USER)} /mnt && echo by-user > /mnt/by-user && umount /mnt")
        assert (share / "by-user").read_text() == "by-user\n"
