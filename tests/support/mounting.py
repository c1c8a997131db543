"""Guests that mount shares with their kernel's clients."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.guest import Guest, GuestError
from tests.support.samba import PASSWORD

NFS_4_1 = "-t nfs -o vers=4.1,soft,timeo=30,retrans=1"
NFS_3 = "-t nfs -o vers=3,nolock,soft,timeo=30,retrans=1"


def exercise(
    guest: Guest, stranger: Guest, mount: str, allow: Callable[[str, str], None], deny: Callable[[str], None]
) -> None:
    """What access rules mean to two machines of one network.

    :param mount: the arguments of `mount`: "-t nfs -o vers=4.1 10.99.0.1:/share"
    :param allow: allows an address a level, "rw" or "ro", from now on; `deny` takes that back. Both return once it is
        in force.
    """
    address = guest.address.split("/")[0]
    with pytest.raises(GuestError):
        guest.run(f"mount {mount} /mnt")

    allow(address, "rw")
    guest.run(f"mount {mount} /mnt")
    written = guest.run("yes pumice | head -c 3000000 | tee /mnt/file | sha256sum; sync").output
    guest.run("umount /mnt")
    guest.run(f"mount {mount} /mnt")
    assert guest.run("sha256sum < /mnt/file").output == written
    with pytest.raises(GuestError):
        stranger.run(f"mount {mount} /mnt")

    allow(address, "ro")
    assert guest.run("echo more >> /mnt/file && sync /mnt/file", check=False).status
    allow(address, "rw")
    # Where the server ended the connection for it, a call may fail before the client comes back.
    guest.run("for n in 1 2 3; do echo new > /mnt/new && sync /mnt/new && exec rm /mnt/new; sleep 1; done; exit 1")

    deny(address)
    for attempt in ("echo more >> /mnt/file && sync /mnt/file", "cat /mnt/file", "echo > /mnt/new && sync /mnt/new"):
        assert guest.run(f"echo 3 > /proc/sys/vm/drop_caches; {attempt}", check=False).status, attempt
    guest.run("umount --force --lazy /mnt")

    allow(address, "ro")
    guest.run(f"mount {mount} /mnt")
    assert guest.run("sha256sum < /mnt/file").output == written
    with pytest.raises(GuestError, match=r"Read-only file system|Permission denied"):
        guest.run("echo more >> /mnt/file && sync /mnt/file")
    guest.run("umount /mnt")
    deny(address)


def smb(path: str, user: str | None = None) -> str:
    r"""The arguments of `mount` for an export location (\\host\name), as a user with PASSWORD or as a guest."""
    who = f"username={user},password={PASSWORD}" if user else "guest"
    return f"-t cifs -o vers=3.1.1,echo_interval=2,soft,{who} {path.replace(chr(92), '/')}"
