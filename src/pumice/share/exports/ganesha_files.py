"""NFS-Ganesha's exports on disk: a file each, and an index that its configuration includes.

The server starts from the index, so it must never name a file that is missing or half written: an export's file
is whole before the index names it, and leaves the index before it goes. The index follows from the files, and is
written anew with every change, so it does not matter between which two steps a process dies.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any

from pumice.kernel.drivers import BackendError
from pumice.kernel.files import exclusive, write_private
from pumice.share.drivers.base import Rule

from .base import Network, RuleRefused, as_text, network_of, plain

_NUMBERS = range(1, 2**16)  # 0 is the server's own pseudo root
_MOST_HOSTS = 16
_TEMPLATE = """\
# {record}
EXPORT {{
    Export_Id = {number};
    Path = "{path}";
    Pseudo = "{pseudo}";
    Access_Type = None;
    Squash = No_Root_Squash;
    Attr_Expiration_Time = 0;
    FSAL {{ Name = VFS; }}
{clients}}}
"""
_CLIENT = "    CLIENT {{ Clients = {client}; Access_Type = {access}; Squash = No_Root_Squash; }}\n"


@dataclass(frozen=True, slots=True, order=True)
class Client:
    """One entry of an export's list, as the server writes it: "10.0.0.0/24", "10.0.0.1", "fd00::1"."""

    to: str
    level: str


@dataclass(frozen=True)
class ExportFile:
    """One export. `mounted`: its path was a mount point, and is not the share while it is none."""

    number: int
    id: str
    path: str
    name: str
    read_only: bool
    mounted: bool
    rules: tuple[Rule, ...] = ()

    @property
    def pseudo(self) -> str:
        return f"/{self.name}"

    @property
    def present(self) -> bool:
        path = Path(self.path)
        return path.is_dir() and (path.is_mount() or not self.mounted)

    @cached_property
    def clients(self) -> tuple[Client, ...]:
        """The narrowest first: the server takes the first that fits; of two alike, the one that allows less."""
        rules = sorted(self.rules, key=lambda rule: (-network_of(rule).prefixlen, self.level(rule)))
        return tuple(dict.fromkeys(client for rule in rules for client in self.clients_of(rule)))

    def clients_of(self, rule: Rule) -> list[Client]:
        return [Client(to, self.level(rule)) for to in addresses(network_of(rule))]

    def level(self, rule: Rule) -> str:
        return "ro" if self.read_only else rule.level

    def texts(self, shown: Sequence[Client]) -> frozenset[str]:
        """What the server shows, as rules: ours where all of a rule is there, else its own words."""
        unexplained, texts = set(shown), set()
        for rule in self.rules:
            clients = self.clients_of(rule)
            if set(clients) <= set(shown):
                texts.add(as_text(rule, read_only=self.read_only))
                unexplained.difference_update(clients)
        return frozenset(texts | {f"ip {client.to} {client.level}" for client in unexplained})

    def render(self) -> str:
        clients = "".join(_CLIENT.format(client=c.to, access=c.level.upper()) for c in self.clients)
        return _TEMPLATE.format(
            record=json.dumps(asdict(self)), number=self.number, path=self.path, pseudo=self.pseudo, clients=clients
        )

    @classmethod
    def parse(cls, text: str) -> ExportFile:
        """:raises ValueError: not written by `render`"""
        record: dict[str, Any] = json.loads(text.split("\n", 1)[0].removeprefix("# "))
        rules = tuple(Rule(**rule) for rule in record.pop("rules"))
        return cls(rules=rules, **record)


def addresses(network: Network) -> list[str]:
    """A network in words that NFS-Ganesha understands. It knows no prefix length of 0, nor one of three digits.

    :raises RuleRefused: there are none, or far too many
    """
    if network.prefixlen == 0:
        return [str(half) for half in network.subnets()]
    if isinstance(network, IPv4Network) or network.prefixlen < 100 or network.prefixlen == 128:
        return [plain(network)]
    if network.num_addresses > _MOST_HOSTS:
        raise RuleRefused("NFS-Ganesha takes IPv6 networks of a prefix length of up to 99, or from 124 on")
    return [plain(IPv6Network(host)) for host in network]


class ExportFiles:
    """The files of one server in `directory`; many processes may work on them, each `exclusive` while it does."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.index = directory / "index.conf"

    def prepare(self) -> None:
        """Make the directory, and an index of what can be exported now."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.exclusive():
            self._write_index([self.path(file) for file in self.all() if file.present])

    def exclusive(self) -> AbstractContextManager[None]:
        return exclusive(self._directory / "lock")

    def path(self, file: ExportFile) -> Path:
        return self._directory / f"{file.number}.{file.id}.conf"

    def all(self) -> list[ExportFile]:
        return [ExportFile.parse(path.read_text()) for path in self._paths()]

    def get(self, id: str) -> ExportFile | None:
        path = next((path for path in self._paths() if path.name.partition(".")[2] == f"{id}.conf"), None)
        return ExportFile.parse(path.read_text()) if path else None

    def new(self, id: str, path: Path, name: str, *, read_only: bool) -> ExportFile:
        """:raises BackendError: the name is another export's, or all 65,535 numbers are taken"""
        files = self.all()
        if other := next((file for file in files if file.name == name and file.id != id), None):
            raise BackendError(f"the name {name!r} is taken by the export of {other.id}")
        used = {file.number for file in files}
        if len(used) == len(_NUMBERS):
            raise BackendError("NFS-Ganesha has room for 65,535 exports, and all are taken")
        # Any one: a client that still holds a handle of a removed export should not find a new one behind it.
        number = next(number for number in iter(lambda: random.choice(_NUMBERS), None) if number not in used)  # noqa: S311
        return ExportFile(number, id, str(path), name, read_only, path.is_mount())

    def put(self, file: ExportFile) -> None:
        write_private(self.path(file), file.render())
        self._write_index(self._paths())

    def remove(self, file: ExportFile) -> None:
        path = self.path(file)
        self._write_index([other for other in self._paths() if other != path])
        path.unlink(missing_ok=True)

    def _paths(self) -> list[Path]:
        return list(self._directory.glob("*.*.conf"))

    def _write_index(self, paths: list[Path]) -> None:
        write_private(self.index, "".join(f'%include "{path}"\n' for path in paths))
