"""Exports over SMB by Samba, as shares in its registry, which it keeps by itself.

User rules name users of Samba's passdb, which is the operator's. Ip rules say from where: alone, they let anybody in
from there, as a guest, all at one level; beside user rules they say from where the users may come.
"""

from __future__ import annotations

import ipaddress
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from pumice.kernel.commands import run
from pumice.kernel.drivers import BackendError, ObjectMissing
from pumice.kernel.files import exclusive
from pumice.share.drivers.base import Applied, Rule
from pumice.share.drivers.base import Path as Location

from .base import RuleRefused, checked_name, checked_path, network_of, port_note
from .samba_share import SambaShare, parse_shares

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

SMB_PORT = 445
_SPECIAL = frozenset({"global", "homes", "printers"})


class SambaAbsent(BackendError):
    """No smbd runs."""


class SambaExporter:
    """:param configuration: the server's smb.conf, with `include = registry`, and `map to guest = Bad User` if ip
        rules alone shall let anybody in
    :param host: the address that clients are told; `port` the one that the server listens on
    :param lock: a file that is locked while shares change, the same for all processes that change this server
    """

    protocol: ClassVar[str] = "CIFS"

    def __init__(self, configuration: Path, host: str, *, lock: Path, port: int = SMB_PORT) -> None:
        self._configuration = configuration
        self._host = host.replace(":", "-") + ".ipv6-literal.net" if ":" in host else host
        self._port = port
        self._lock = lock

    def start(self) -> None:
        self._net("conf", "listshares")
        self._control("ping")

    def stop(self) -> None:
        pass

    def export(self, id: str, path: Path, name: str, *, read_only: bool = False) -> list[Location]:
        checked_name(id)
        checked_path(path)
        if checked_name(name).lower() in _SPECIAL:
            raise BackendError(f"{name!r} means something else to Samba, and cannot name an export")
        with exclusive(self._lock):
            shares = self._shares()
            if other := next((share for share in shares.values() if share.same_name(name) and share.id != id), None):
                raise BackendError(f"the name {name!r} is taken by the export of {other.id or 'somebody else'}")
            known = shares.get(id)
            share = replace(known or SambaShare(name, id, str(path)), name=name, path=str(path), read_only=read_only)
            if share != known:
                self._put(share)
            if known and (known.name, known.path) != (share.name, share.path):
                self._drop(known, keep=known.same_name(name))
        return [Location(f"\\\\{self._host}\\{name}", metadata=port_note(self._port, SMB_PORT))]

    def unexport(self, id: str) -> None:
        with exclusive(self._lock):
            if share := self._shares().get(checked_name(id)):
                self._drop(share)

    def apply(self, id: str, rules: Sequence[Rule]) -> Mapping[str, Applied]:
        with exclusive(self._lock):
            known = self._shares().get(checked_name(id))
            if known is None:
                raise ObjectMissing(f"{id} is not exported over SMB")
            fared = self._examine(known, rules)
            taken = tuple(rule for rule in rules if fared[rule.id].error is None)
            share = replace(known, rules=taken, users_only=any(rule.type == "user" for rule in rules))
            if share.parameters != known.parameters:
                self._put(share)
            self._reload()
            # Also who had nothing before: our predecessor may have died after it had written the same.
            self._close(share.name, lambda *who: not share.access(*who) or share.access(*who) != known.access(*who))
        return fared

    def ids(self) -> frozenset[str]:
        return frozenset(self.exports())

    def exports(self) -> Mapping[str, frozenset[str]]:
        return {id: share.texts for id, share in self._shares().items() if share.id}

    def _examine(self, share: SambaShare, rules: Sequence[Rule]) -> dict[str, Applied]:
        """Which rules Samba can enforce together, of those that it can enforce at all."""
        by_user = any(rule.type == "user" for rule in rules)
        users = self._users() if by_user else None
        by_address = next((share.level(rule) for rule in rules if rule.type == "ip"), "")
        level = "rw" if by_user and not share.read_only else by_address
        return {rule.id: Applied(_refusal(rule, share.level(rule), users, level)) for rule in rules}

    def _users(self) -> frozenset[str]:
        lines = self._run("pdbedit", "--list").splitlines()
        return frozenset(line.split(":")[0].lower() for line in lines)

    def _shares(self) -> dict[str, SambaShare]:
        """By the id of the export; those of others by "/" and their name."""
        shares = parse_shares(self._net("conf", "list"))
        return {share.id or f"/{share.name}": share for share in shares}

    def _put(self, share: SambaShare) -> None:
        """Replace the definition of a share as a whole."""
        with tempfile.NamedTemporaryFile("w", prefix="pumice-", suffix=".conf") as file:
            file.write(share.render())
            file.flush()
            self._net("conf", "import", file.name, share.name)

    def _drop(self, share: SambaShare, *, keep: bool = False) -> None:
        if not keep:
            self._net("conf", "delshare", share.name)
        with suppress(SambaAbsent):
            self._reload()
            self._close(share.name, lambda _user, _address: True)

    def _reload(self) -> None:
        """Let smbd read its configuration; whoever connects from now on finds the new one."""
        self._control("reload-config")
        self._control("ping")  # which it answers when it has done so

    def _net(self, *words: str) -> str:
        return self._run("net", *words)

    def _close(self, name: str, whom: Callable[[str, Address], bool]) -> None:
        """End the connections of some who use a share, by user and address. Who still may comes back by itself.

        Samba's own messages do less: `close-denied-share` looks at users again, but neither at addresses nor at
        levels, and clients do not come back to a share that was closed (`close-share`) before they mount it again.
        """
        status = json.loads(self._run("smbstatus", "--json"))
        for tree in status.get("tcons", {}).values():
            user = status["sessions"].get(tree["session_id"], {}).get("username", "")
            if tree["service"].lower() == name.lower() and whom(user, ipaddress.ip_address(tree["machine"])):
                self._end(tree["server_id"]["pid"])

    def _end(self, connection: str) -> None:
        """:param connection: the id of the process that serves it"""
        try:
            self._control("shutdown", process=connection)
        except BackendError:
            if Path(f"/proc/{connection}").exists():  # else it has ended by itself
                raise

    def _control(self, *words: str, process: str = "smbd") -> None:
        """:raises SambaAbsent: no smbd runs"""
        try:
            self._run("smbcontrol", process, *words)
        except BackendError as error:
            if "Can't find pid" in str(error):
                raise SambaAbsent(f"no smbd runs by {self._configuration}") from None
            raise

    def _run(self, program: str, *words: str) -> str:
        return run(program, f"--configfile={self._configuration}", *words).output


def _refusal(rule: Rule, level: str, users: frozenset[str] | None, level_by_address: str) -> str | None:
    """Why a rule cannot be enforced.

    :param users: those whom Samba knows; None when no rule is for a user
    """
    if rule.type == "user":
        return None if rule.to.lower() in (users or ()) else f"Samba knows no user {rule.to!r}"
    if rule.type != "ip":
        return f"access by {rule.type} is not possible here, only by user and by ip"
    try:
        network_of(rule)
    except RuleRefused as refusal:
        return str(refusal)
    if level == level_by_address:
        return None
    if users is not None:
        return "beside rules for users, Samba takes ip rules that allow to write: the users' rules say who may"
    return f"Samba lets all addresses of a share do the same, and another rule says {level_by_address}"
