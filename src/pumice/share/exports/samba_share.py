"""One share as Samba's registry has it: from our rules to its parameters, and back."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pumice.share.drivers.base import Rule

from .base import as_text, network_of, plain

_NOBODY = "?"
"""No user's name. Where users are asked for and none is known, the share must not be open to guests."""
_ID = "pumice:export"
_READ_ONLY = "pumice:read only"


@dataclass(frozen=True, slots=True)
class SambaShare:
    """:param id: of the export; "" when the share is not ours
    :param users_only: no guests, though no rule that could be enforced names a user
    """

    name: str
    id: str
    path: str
    read_only: bool = False
    rules: tuple[Rule, ...] = ()
    users_only: bool = False

    def same_name(self, name: str) -> bool:
        return self.name.lower() == name.lower()

    def level(self, rule: Rule) -> str:
        return "ro" if self.read_only else rule.level

    @property
    def texts(self) -> frozenset[str]:
        return frozenset(as_text(rule, read_only=self.read_only) for rule in self.rules)

    @property
    def users(self) -> list[Rule]:
        return [rule for rule in self.rules if rule.type == "user"]

    @property
    def hosts(self) -> list[Rule]:
        return [rule for rule in self.rules if rule.type == "ip"]

    @property
    def by_user(self) -> bool:
        """Whether users are asked who they are; else everybody is a guest, if the address may come in."""
        return self.users_only or bool(self.users)

    def access(self, user: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
        """What a user may do who comes from an address: "rw", "ro" or "" for nothing."""
        fitting = [rule for rule in self.hosts if address in network_of(rule)]
        if self.by_user:
            named = [rule for rule in self.users if rule.to.lower() == user.lower()]
            fitting = named if fitting or not self.hosts else []
        return min((self.level(rule) for rule in fitting), default="")

    @property
    def parameters(self) -> Mapping[str, str]:
        readers = [rule.to for rule in self.users if self.level(rule) == "ro"]
        writable = not self.read_only and (self.by_user or any(rule.level == "rw" for rule in self.hosts))
        parameters = {
            "path": self.path,
            _ID: self.id,
            _READ_ONLY: _yes(self.read_only),
            "read only": _yes(not writable),
            "create mask": "0666",
            "directory mask": "0777",
        }
        if self.by_user:
            parameters["valid users"] = _quoted([rule.to for rule in self.users] or [_NOBODY])
            parameters["read list"] = _quoted(readers)
        else:
            parameters |= {"guest ok": "yes", "guest only": "yes"}
        if self.hosts or not self.by_user:
            parameters["hosts allow"] = ", ".join(plain(network_of(rule)) for rule in self.hosts)
            parameters["hosts deny"] = "ALL"
        return {key: value for key, value in parameters.items() if value}

    def render(self) -> str:
        return "".join([f"[{self.name}]\n", *(f"\t{key} = {value}\n" for key, value in self.parameters.items())])

    @classmethod
    def parse(cls, name: str, parameters: Mapping[str, str]) -> SambaShare:
        """The rules have no ids: the registry knows only what they allow."""
        read_only = parameters.get("read only", "yes") == "yes"
        users = _unquoted(parameters.get("valid users", ""))
        readers = users if read_only else _unquoted(parameters.get("read list", ""))
        hosts = parameters.get("hosts allow", "").split(", ")
        rules = [
            *(Rule("", "user", user, "ro" if user in readers else "rw") for user in users if user != _NOBODY),
            *(Rule("", "ip", host, "ro" if read_only else "rw") for host in hosts if host),
        ]
        return cls(
            name=name,
            id=parameters.get(_ID, ""),
            path=parameters.get("path", ""),
            read_only=parameters.get(_READ_ONLY) == "yes",
            rules=tuple(rules),
            users_only="valid users" in parameters,
        )


def parse_shares(listing: str) -> Iterator[SambaShare]:
    """The shares in the output of `net conf list`."""
    for section in re.split(r"^\[", listing, flags=re.MULTILINE)[1:]:
        name, *lines = section.splitlines()
        pairs = (line.strip().partition(" = ") for line in lines if line.strip())
        yield SambaShare.parse(name.rstrip("]"), {key: value for key, _, value in pairs})


def _yes(true: bool) -> str:
    return "yes" if true else "no"


def _quoted(names: list[str]) -> str:
    return " ".join(f'"{name}"' for name in names)


def _unquoted(names: str) -> list[str]:
    return re.findall(r'"([^"]*)"', names)
