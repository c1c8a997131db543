from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pumice.share.drivers.base import Applied, Rule
from tests.support.guest import Guest, GuestError, Network
from tests.support.mounting import exercise, smb
from tests.support.samba import add_user, open_directory, samba_server

pytestmark = [pytest.mark.real, pytest.mark.slow]

USER, OTHER = "games", "mail"


@pytest.fixture
def network() -> Iterator[Network]:
    with Network() as network:
        yield network


def test_shares_at_two_machines(network: Network, tmp_path: Path) -> None:
    with (
        open_directory() as share,
        samba_server(tmp_path, network) as server,
        Guest(network, tmp_path) as guest,
        Guest(network, tmp_path, name="stranger") as stranger,
    ):
        exporter = server.exporter()
        exporter.start()
        rules: dict[str, Rule] = {}

        def apply() -> None:
            assert set(exporter.apply("one", list(rules.values())).values()) <= {Applied()}

        def allow(address: str, level: str) -> None:
            rules[address] = Rule(address, "ip", address, level)
            apply()

        def deny(address: str) -> None:
            del rules[address]
            apply()

        [location] = exporter.export("one", share, "first")
        exercise(guest, stranger, smb(location.path), allow, deny)

        machines = {guest.address.split("/")[0]: guest, stranger.address.split("/")[0]: stranger}
        for address, machine in machines.items():
            allow(address, "rw")
            machine.run(f"mount {smb(location.path)} /mnt && echo mine > /mnt/{address}")
        deny(list(machines)[1])
        guest.run("echo undisturbed > /mnt/file && sync /mnt/file && umount /mnt")
        assert stranger.run("echo 3 > /proc/sys/vm/drop_caches; ls /mnt", check=False).status

        add_user(server, USER)
        add_user(server, OTHER)
        rules = {"user": Rule("user", "user", USER)}
        apply()
        with pytest.raises(GuestError, match="Permission denied"):
            guest.run(f"mount {smb(location.path, OTHER)} /mnt")
        with pytest.raises(GuestError, match="Permission denied"):
            guest.run(f"mount {smb(location.path)} /mnt")
        guest.run(f"mount {smb(location.path, USER)} /mnt && echo by-user > /mnt/by-user && umount /mnt")
        assert (share / "by-user").read_text() == "by-user\n"
