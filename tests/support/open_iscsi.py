"""The Linux initiator (open-iscsi) in a guest, driven by an attachment's connection_info as compute hosts drive it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.support.guest import Guest, GuestError

INITIATOR = "iqn.2026-01.org.example:guest"
STRANGER = "iqn.2026-01.org.example:stranger"


class OpenIscsi:
    """The initiator of one guest, under the given name, ready to log in. A later one takes an earlier one's place."""

    def __init__(self, guest: Guest, name: str = INITIATOR) -> None:
        self._guest = guest
        guest.run(
            "iscsiadm -k 0\n"
            f"echo InitiatorName={name} > /etc/iscsi/initiatorname.iscsi\n"
            "modprobe -a iscsi_tcp sd_mod && iscsid"
        )

    def login(self, info: Mapping[str, Any]) -> str:
        """Logs in to the target of a connection_info; returns the device of its LUN. GuestError when refused."""
        target = self._target(info)
        self._guest.run(
            f"{target} --op delete\n{target} --op new\n"
            f"{target} --op update -n node.session.auth.authmethod -v {info['auth_method']}\n"
            f"{target} --op update -n node.session.auth.username -v {shlex.quote(info['auth_username'])}\n"
            f"{target} --op update -n node.session.auth.password -v {shlex.quote(info['auth_password'])}\n"
            f"{target} --op update -n node.session.initial_login_retry_max -v 1"
        )
        self._guest.run(f"{target} --login", timeout=90)
        # no udev here: the device node is the kernel's own, and the LUN's name is looked up in sysfs
        lun = self._guest.run(
            f"session=$(grep -lx {info['target_iqn']} /sys/class/iscsi_session/session*/targetname)\n"
            f"lun=${{session%/targetname}}/device/target*/*:{info['target_lun']}\n"
            "for try in $(seq 100); do ls $lun/block 2> /dev/null && exit; sleep 0.1; done; exit 1"
        )
        return f"/dev/{lun.output.strip()}"

    def logout(self, info: Mapping[str, Any]) -> None:
        self._guest.run(f"{self._target(info)} --logout")

    def rescan(self, info: Mapping[str, Any]) -> None:
        """Looks for changed LUNs, once logged in: tgtd ends sessions to extend a volume, and `--rescan` skips those."""
        self._guest.run(
            "for try in $(seq 100); do grep -q LOGGED_IN /sys/class/iscsi_session/*/state && break; sleep 0.1; done\n"
            f"{self._target(info)} --rescan"
        )

    def _target(self, info: Mapping[str, Any]) -> str:
        return f"iscsiadm -m node -T {info['target_iqn']} -p {info['target_portal']}"


def exercise(guest: Guest, info: Mapping[str, Any], extend: Callable[[], int]) -> None:
    """A volume's whole life at a server: file system, data, growth while mounted, and the data again after a new login.

    `info` is the connection_info of an attachment made for the initiator INITIATOR; `extend` grows the volume on the
    server's side and returns its new size in bytes.
    """
    with pytest.raises(GuestError, match="non-retryable iSCSI login failure"):
        OpenIscsi(guest, STRANGER).login(info)
    initiator = OpenIscsi(guest)
    with pytest.raises(GuestError, match="authorization failure"):
        initiator.login({**info, "auth_password": "not-the-password"})

    device = initiator.login(info)
    guest.run(f"mkfs.ext4 -q {device} && mount {device} /mnt")
    written = guest.run("yes pumice | head -c 20000000 | tee /mnt/file | sha256sum; sync").output
    before = int(guest.run("stat -f -c '%b' /mnt").output)

    size = extend()
    initiator.rescan(info)
    assert int(guest.run(f"blockdev --getsize64 {device}").output) == size
    guest.run(f"resize2fs {device}", timeout=120)
    assert int(guest.run("stat -f -c '%b' /mnt").output) > before
    guest.run("umount /mnt")
    initiator.logout(info)
    assert not guest.run("ls /sys/class/iscsi_session").output

    device = initiator.login(info)
    assert int(guest.run(f"blockdev --getsize64 {device}").output) == size
    guest.run(f"fsck.ext4 -fn {device} && mount {device} /mnt")
    assert guest.run("sha256sum < /mnt/file").output == written
    guest.run("umount /mnt")
    initiator.logout(info)
