"""Exports by tgtd: one target an export, with its own CHAP account and access list.

tgtd keeps nothing on disk. An export is made again from the connection that `connect` returned; where tgtd does
not run, nothing is exported, and `disconnect` has nothing to do.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pumice.block.drivers.base import Export
from pumice.block.drivers.names import checked_address, checked_initiator
from pumice.block.drivers.tgtd import Code, Mode, Op, Target, Tgtd, TgtdAbsent, TgtdError
from pumice.kernel.drivers import BackendError, checked_name, checked_uuid
from pumice.kernel.files import exclusive

LUN = 1
_IDS = re.compile(r"volume-([0-9a-f-]{36})\.([0-9a-z.-]+)$")
# tgtd puts 28 bits of the number into a name of the unit that must be unique; low numbers are left to people.
_FIRST_TARGET = 2**16
_TARGETS = 2**28 - _FIRST_TARGET
_BUSY_SECONDS = 10.0
_RETURN_SECONDS = 5.0


class TgtExports:
    """The exports of one directory of volumes.

    :param portal: address and port that initiators are told
    :param lock_file: held while targets change, by all processes that share a tgtd
    :param any_initiator: export to everyone who knows the password when the connector names nobody
    """

    def __init__(
        self,
        tgtd: Tgtd,
        *,
        directory: Path,
        portal: tuple[str, int],
        prefix: str,
        lock_file: Path,
        any_initiator: bool = False,
    ) -> None:
        self._tgtd = tgtd
        self._directory = directory
        host = f"[{portal[0]}]" if ":" in portal[0] else portal[0]
        self._portal = f"{host}:{portal[1]}"
        self._prefix = f"{prefix}volume-"
        self._lock_file = lock_file
        self._any_initiator = any_initiator

    def connect(self, export: Export, path: Path) -> Mapping[str, Any]:
        """Make the target of an export of the file at `path` and return its connection.

        A target that stands as `export.connection` says stays as it is, sessions and all; any other of that
        name is replaced: nobody has its password yet.

        :raises TgtdAbsent: tgtd does not run
        """
        name, access = self._target_name(export), self._access(export)
        connection = export.connection or self._new_connection(export, name)
        user = connection["data"]["auth_username"]
        with exclusive(self._lock_file):
            for _ in range(16):
                tid = _FIRST_TARGET + secrets.randbelow(_TARGETS)
                try:
                    self._tgtd.call(Mode.TARGET, Op.NEW, tid, parameters=f"targetname={name}")
                except TgtdError as error:
                    if error.code != Code.TARGET_EXISTS:
                        raise
                else:
                    self._furnish(tid, export, path, connection["data"], access)
                    return connection
                found = self._find(name)  # None: it is the number that exists
                if (
                    found
                    and (found.path, found.read_only) == (str(path), export.read_only)
                    and user in found.accounts
                    and access[1] in found.allowed
                ):
                    return connection
                if found:
                    self._remove(export, found)
        raise BackendError(f"tgtd has no room for target {name}")

    def disconnect(self, export: Export) -> None:
        """End the sessions of an export and remove its target and accounts."""
        with contextlib.suppress(TgtdAbsent), exclusive(self._lock_file):
            self._remove(export, self._find(self._target_name(export)))

    def resize(self, volume_id: str, path: Path, size: int) -> None:
        """Let all targets of a volume present its file's new size (in bytes).

        tgtd reads a file's size only when it opens the unit, and commands that find no unit fail at once, in a
        guest as I/O errors. So the connections go first: initiators log in again by themselves, the kernel's
        after two seconds, and repeat what had no answer: they see a pause. This waits for them for a while, so
        that a rescan that follows finds its session.
        """
        dropped: dict[int, int] = {}
        with contextlib.suppress(TgtdAbsent), exclusive(self._lock_file):
            for target in self._targets_of(volume_id):
                if target.path == str(path) and target.megabytes == round(size / 1e6):
                    continue
                dropped[target.tid] = len(self._tgtd.connections(target.tid))
                self._delete_when_idle(Mode.UNIT, target.tid)
                # A crash just here leaves no unit to learn the mode from: the safe one, until `connect` comes by.
                self._add_unit(target.tid, volume_id, path, read_only=target.read_only is not False)
        deadline = time.monotonic() + _RETURN_SECONDS
        with contextlib.suppress(TgtdAbsent):
            for tid, count in dropped.items():
                while len(self._tgtd.connections(tid)) < count and time.monotonic() < deadline:
                    time.sleep(0.05)

    def remove_volume(self, volume_id: str) -> None:
        """Remove whatever targets a volume still has."""
        with contextlib.suppress(TgtdAbsent), exclusive(self._lock_file):
            for target in self._targets_of(volume_id):
                self._delete_when_idle(Mode.TARGET, target.tid)
                for user in target.accounts:
                    self._delete_account(user)

    def is_exported(self, volume_id: str) -> bool:
        with contextlib.suppress(TgtdAbsent):
            return bool(self._targets_of(volume_id))
        return False

    def exports(self) -> dict[str, str]:
        """The exports of this directory's volumes, and those without a unit, which a crash left half made; with the
        ids of their volumes."""
        with contextlib.suppress(TgtdAbsent), exclusive(self._lock_file):
            here = (one for one in self._tgtd.targets() if one.path is None or Path(one.path).parent == self._directory)
            return {export_id: volume_id for one in here for volume_id, export_id in [_ids_in(one.name)] if export_id}
        return {}

    def _target_name(self, export: Export) -> str:
        if export.connection:  # made before target_prefix was changed, perhaps
            return str(export.connection["data"]["target_iqn"])
        return f"{self._prefix}{checked_uuid(export.volume.id)}.{checked_name(export.id, 'export id')}"

    def _find(self, name: str) -> Target | None:
        return next((target for target in self._tgtd.targets(name) if target.name == name), None)

    def _targets_of(self, volume_id: str) -> list[Target]:
        return [target for target in self._tgtd.targets(volume_id) if _ids_in(target.name)[0] == volume_id]

    def _access(self, export: Export) -> tuple[str, str]:
        """The parameter and value of the access rule for the export's connector."""
        # A connector is whatever a caller sent as JSON, hence str().
        if export.connector.initiator:
            return "initiator-name", checked_initiator(str(export.connector.initiator))
        if export.connector.ip:
            return "initiator-address", checked_address(str(export.connector.ip))
        if self._any_initiator:
            return "initiator-address", "ALL"
        raise BackendError("the connector names neither an initiator nor an ip: one of them is needed")

    def _new_connection(self, export: Export, name: str) -> Mapping[str, Any]:
        data = {
            "target_discovered": False,
            "target_portal": self._portal,
            "target_iqn": name,
            "target_lun": LUN,
            "volume_id": export.volume.id,
            "auth_method": "CHAP",
            # The first half finds the accounts of an export again, the second says which password it is.
            "auth_username": _account_prefix(export) + secrets.token_hex(4),
            "auth_password": secrets.token_hex(16),
        }
        return {"driver_volume_type": "iscsi", "data": data}

    def _furnish(self, tid: int, export: Export, path: Path, data: Mapping[str, Any], access: tuple[str, str]) -> None:
        """Give a new target its account, its unit and, last of all, the rule that lets the initiator in."""
        user = data["auth_username"]
        try:
            self._delete_account(user)
            self._tgtd.call(Mode.ACCOUNT, Op.NEW, parameters=f"user={user},password={data['auth_password']}")
            self._tgtd.call(Mode.ACCOUNT, Op.BIND, tid, parameters=f"user={user}")
            self._add_unit(tid, export.volume.id, path, read_only=export.read_only)
            self._tgtd.call(Mode.TARGET, Op.BIND, tid, parameters="=".join(access))
        except BackendError:
            with contextlib.suppress(BackendError):
                self._tgtd.call(Mode.TARGET, Op.DELETE, tid, force=True)
                self._delete_account(user)
            raise

    def _add_unit(self, tid: int, volume_id: str, path: Path, *, read_only: bool) -> None:
        self._tgtd.call(Mode.UNIT, Op.NEW, tid, LUN, parameters=f"path={path},bstype=rdwr")
        serial = volume_id.replace("-", "")
        # The ids make the same disk of a volume wherever and however often it is exported; without them they
        # would follow the target's number, which differs each time.
        parameters = (
            f"vendor_id=PUMICE,product_id=VOLUME,scsi_sn={serial},scsi_id={serial},"
            f"thin_provisioning=1,readonly={int(read_only)}"
        )
        self._tgtd.call(Mode.UNIT, Op.UPDATE, tid, LUN, parameters=f"targetOps {parameters},")

    def _delete_when_idle(self, mode: Mode, tid: int) -> None:
        """Delete a target or its unit, which must wait for the writes in flight even where force is used."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            self._tgtd.drop_connections(tid)
            try:
                if mode == Mode.TARGET:
                    self._tgtd.call(mode, Op.DELETE, tid, force=True)
                else:
                    self._tgtd.call(mode, Op.DELETE, tid, LUN)
            except TgtdError as error:
                if error.code in {Code.NO_TARGET, Code.NO_UNIT}:
                    return
                if error.code not in {Code.UNIT_ACTIVE, Code.TARGET_ACTIVE} or time.monotonic() > deadline:
                    raise
                time.sleep(0.002)
            else:
                return

    def _remove(self, export: Export, target: Target | None) -> None:
        if target:
            self._delete_when_idle(Mode.TARGET, target.tid)
        for user in self._tgtd.accounts():
            if user.startswith(_account_prefix(export)):
                self._delete_account(user)

    def _delete_account(self, user: str) -> None:
        try:
            self._tgtd.call(Mode.ACCOUNT, Op.DELETE, parameters=f"user={user}")
        except TgtdError as error:
            if error.code != Code.NO_ACCOUNT:
                raise


def _ids_in(name: str) -> tuple[str, str]:
    """The ids of the volume and the export in a target's name; empty if it is not one of ours."""
    ids = _IDS.search(name)
    return (ids[1], ids[2]) if ids else ("", "")


def _account_prefix(export: Export) -> str:
    return hashlib.sha256(export.id.encode()).hexdigest()[:16]
