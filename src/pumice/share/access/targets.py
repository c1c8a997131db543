"""Whom a rule lets in: the forms of `access_to` for each `access_type`."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

from pumice.kernel.api.values import shown
from pumice.kernel.api.versions import Version
from pumice.kernel.errors import BadRequest

IPV6_FROM = "2.38"
CEPHX_FROM = "2.13"

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NETWORK = re.compile(r"[0-9A-Fa-f.:]+(/[0-9]{1,3})?")
_USER = re.compile(r'(?![. ]+$).[^"/\\\[\]:;|=,+*?<>\x00-\x1f\x7f]{3,254}')
_CERT = re.compile(r"(?!\s+$)[^\x00-\x1f\x7f]{1,64}")
_CEPHX = re.compile(r"(?! +$)[ -\-/-~]{1,255}")


def check(access_type: str, access_to: str, version: Version) -> None:
    """:raises BadRequest: the type does not exist at this version, or its rules cannot be for `access_to`"""
    types = types_at(version)
    if access_type not in types:
        raise BadRequest(f"access_type {shown(access_type)} is refused: one of {', '.join(types)} is allowed.")
    fits, allowed = _FORMS[access_type]
    if not fits(access_to):
        raise BadRequest(f"access_to {shown(access_to)} is refused for access_type {access_type}: {allowed}.")
    if access_type == "ip" and version < IPV6_FROM and _network(access_to).version == 6:
        raise BadRequest(f"access_to {shown(access_to)} is refused: IPv6 is allowed from version {IPV6_FROM} on.")


def types_at(version: Version) -> tuple[str, ...]:
    return tuple(name for name in _FORMS if name != "cephx" or version >= CEPHX_FROM)


def same(access_type: str, one: str, other: str) -> bool:
    """Whether two targets of a type are the same: 10.0.0.1 and 10.0.0.1/32 are."""
    return one == other or (access_type == "ip" and _network(one) == _network(other))


def _network(text: str) -> _Network:
    """:raises ValueError: it is no address and no network, or the address has bits beyond its prefix"""
    if not _NETWORK.fullmatch(text):
        raise ValueError(f"{text} is no network")
    return ipaddress.ip_network(text)


def _is_network(text: str) -> bool:
    try:
        _network(text)
    except ValueError:
        return False
    return True


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


_FORMS: dict[str, tuple[Callable[[str], bool], str]] = {
    "ip": (_is_network, "an address, or the address of a network with its prefix length, is allowed"),
    "user": (
        _matches(_USER),
        'not only dots and blanks, and after the first of 4 to 255 characters none of " / \\ [ ] : ; | = , + * ? < >',
    ),
    "cert": (_matches(_CERT), "a common name of 1 to 64 characters is allowed"),
    "cephx": (_matches(_CEPHX), "printable ASCII characters without dots are allowed"),
}
