"""Checks of what a connector says before it becomes a parameter of a target."""

from __future__ import annotations

import ipaddress
import re

from pumice.kernel.drivers import BackendError

_INITIATOR = re.compile(r"(iqn|eui|naa)\.[0-9A-Za-z.:_-]{1,219}")


def checked_initiator(text: str) -> str:
    """:raises BackendError: not an iSCSI name (iqn., eui. or naa.)"""
    if _INITIATOR.fullmatch(text):
        return text
    raise BackendError(f"initiator {text!r} is refused: an iSCSI name (iqn., eui. or naa.) is allowed")


def checked_address(text: str) -> str:
    """:raises BackendError: not one IPv4 or IPv6 address"""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise BackendError(f"address {text!r} of the connector is refused: one IP address is allowed") from None
