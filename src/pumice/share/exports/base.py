"""What a file server is to a share driver: something that exports directories to those whom rules name.

Exports are named by the id of the share or snapshot instance. Every call may be made twice, and calls for
different exports at the same time. All raise `BackendError` when the server refuses or does not answer.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Protocol

from pumice.kernel.drivers import BackendError
from pumice.share.drivers.base import Applied, Rule
from pumice.share.drivers.base import Path as Location

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")


class Exporter(Protocol):
    protocol: ClassVar[str]
    """The protocol of the shares that it exports: NFS or CIFS."""

    def start(self) -> None:
        """See that the server can be used, and give it the exports that it lacks."""

    def stop(self) -> None:
        """Let go of what is held in this process. Exports stay."""

    def export(self, id: str, path: Path, name: str, *, read_only: bool = False) -> list[Location]:
        """Export a directory as `name`, to nobody yet; one that is exported keeps its rules."""

    def unexport(self, id: str) -> None:
        """End the export, also for who has mounted it."""

    def apply(self, id: str, rules: Sequence[Rule]) -> Mapping[str, Applied]:
        """Bring the server to exactly these rules; mounted clients that none of them allows any more are cut off.

        :returns: rule id → how it fared, for every rule given
        """

    def ids(self) -> frozenset[str]:
        """The exports that the server has."""

    def exports(self) -> Mapping[str, frozenset[str]]:
        """The exports as the server has them, each with the rules in force, written as `as_text` does."""


class RuleRefused(Exception):
    """A rule that the server cannot enforce; the text says why."""


def network_of(rule: Rule) -> Network:
    """What an ip rule allows.

    :raises RuleRefused: it is a rule of another type
    """
    if rule.type != "ip":
        raise RuleRefused(f"access by {rule.type} is not possible here, only by ip")
    try:
        return ipaddress.ip_network(rule.to, strict=False)
    except ValueError as error:
        raise RuleRefused(str(error)) from None


def plain(network: Network) -> str:
    """A network as servers and rules write it: a single address without its prefix length."""
    return str(network.network_address if network.prefixlen == network.max_prefixlen else network)


def as_text(rule: Rule, *, read_only: bool = False) -> str:
    """A rule in one line, however its address was written: "ip 10.0.0.0/24 rw"."""
    to = plain(network_of(rule)) if rule.type == "ip" else rule.to
    return f"{rule.type} {to} {'ro' if read_only else rule.level}"


def checked_name(name: str) -> str:
    """:raises BackendError: not a name that servers and clients understand as the last part of a path"""
    if not _NAME.fullmatch(name):
        raise BackendError(f"{name!r} cannot name an export: 1 to 80 letters, digits and any of . _ -")
    return name


def checked_path(path: Path) -> Path:
    """:raises BackendError: not an absolute path that can be written into a server's configuration"""
    if not path.is_absolute() or re.search(r'["\\%\x00-\x1f\x7f]', str(path)):
        raise BackendError(f"{str(path)!r} cannot be exported: absolute, without quotes, % and control characters")
    return path


def port_note(port: int, usual: int) -> dict[str, str]:
    """What the metadata of a location says beside its path, which has no room for a port."""
    return {} if port == usual else {"port": str(port)}
