"""Checks of ids and names before they become file names or parameters of a target."""

from __future__ import annotations

import ipaddress
import re
import uuid

from pumice.kernel.drivers import BackendError

_PLAIN = re.compile(r"[0-9a-z][0-9a-z.-]{0,79}")
_INITIATOR = re.compile(r"(iqn|eui|naa)\.[0-9A-Za-z.:_-]{1,219}")


def checked_uuid(text: str) -> str:
    """:raises BackendError: not a UUID in its usual form, 36 characters in lower case"""
    try:
        if str(uuid.UUID(text)) == text:
            return text
    except ValueError:
        pass
    raise BackendError(f"id {text!r} is refused: a UUID in lower case is allowed")


def checked_export_id(text: str) -> str:
    """:raises BackendError: not 1 to 80 of the characters that an iSCSI name may hold"""
    if _PLAIN.fullmatch(text):
        return text
    raise BackendError(f"export id {text!r} is refused: 1 to 80 of 0-9, a-z, '.' and '-' are allowed")


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
