"""Extra specs of share types: which of them the API knows, and what they mean (section 13 of the API).

All values are kept as text. Other keys than these are free, and match capabilities of pools.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pumice.kernel.api.values import boolean_word, integer, one_of, shown, text
from pumice.kernel.errors import BadRequest

Specs = Mapping[str, Any]

HANDLES_SERVERS = "driver_handles_share_servers"
SNAPSHOTS = "snapshot_support"
FROM_SNAPSHOTS = "create_share_from_snapshot_support"
REVERTS = "revert_to_snapshot_support"
MOUNTS_SNAPSHOTS = "mount_snapshot_support"
INHERITS_ACCESS = "snapshot_inherit_share_access_support"
MOUNT_POINT_NAMES = "mount_point_name_support"
MOUNT_POINT_PREFIX = "provisioning:mount_point_prefix"
MIN_SIZE = "provisioning:min_share_size"
MAX_SIZE = "provisioning:max_share_size"
MAX_EXTEND_SIZE = "provisioning:max_share_extend_size"
ZONES = "availability_zones"
REPLICATION = "replication_type"
ENCRYPTION = "encryption_support"
DEFAULT_QOS = "default_qos_type"

REQUIRED = (HANDLES_SERVERS,)
CAPABILITIES = (SNAPSHOTS, FROM_SNAPSHOTS, REVERTS, MOUNTS_SNAPSHOTS, INHERITS_ACCESS)
"""What shares of a type can do: false where the type does not say."""
_OPTIONAL = (*CAPABILITIES, MOUNT_POINT_NAMES)
_NOT_OF_POOLS = (ZONES, DEFAULT_QOS)


def is_true(value: str) -> bool:
    """The meaning of a boolean spec, also in the form `<is> True`; raises ValueError."""
    return boolean_word(value.strip().removeprefix("<is>"))


def _zones(value: str) -> None:
    if not all(zone.strip() for zone in value.split(",")):
        raise ValueError(f"{shown(value)} is refused: names of availability zones with commas between are allowed")


_GIB = integer(1, unit="GiB").parse
_KNOWN: Mapping[str, Callable[[str], Any]] = {
    HANDLES_SERVERS: is_true,
    **dict.fromkeys(CAPABILITIES, is_true),
    MOUNT_POINT_NAMES: is_true,
    MOUNT_POINT_PREFIX: text(0, 255).parse,
    MIN_SIZE: _GIB,
    MAX_SIZE: _GIB,
    MAX_EXTEND_SIZE: _GIB,
    ZONES: _zones,
    REPLICATION: one_of("writable", "readable", "dr").parse,
    ENCRYPTION: one_of("share", "share_server").parse,
    DEFAULT_QOS: text(1, 255).parse,
}
OPEN = frozenset(_KNOWN)
"""Specs that everybody reads."""
BOOLEAN = frozenset(key for key, check in _KNOWN.items() if check is is_true)


def check(specs: Mapping[str, str]) -> None:
    """:raises BadRequest: a spec that the API knows has a value that is none of its, or a required one is missing"""
    for key in REQUIRED:
        if key not in specs:
            raise BadRequest(f"The extra spec {key} is missing: every share type has it, with true or false.")
    for key, value in specs.items():
        if key in _KNOWN:
            try:
                _KNOWN[key](value)
            except ValueError as error:
                raise BadRequest(f"The extra spec {key}: {error}") from None


def flag(specs: Specs, key: str) -> bool:
    """What a boolean spec says; false where it is not there."""
    return key in specs and is_true(specs[key])


def bound(specs: Specs, key: str) -> int | None:
    """A bound on sizes in GiB; None where there is none."""
    return int(specs[key]) if key in specs else None


def zones(specs: Specs) -> list[str]:
    """The availability zones that shares of a type may be in; none named: all."""
    return [zone.strip() for zone in specs.get(ZONES, "").split(",") if zone.strip()]


def wanted_of_pools(specs: Specs) -> dict[str, Any]:
    """The extra specs that a pool must match, booleans whatever their words. What a type does not need, a pool may
    have."""
    return {
        key: f"<is> {is_true(value)}" if key in BOOLEAN else value
        for key, value in specs.items()
        if key not in _NOT_OF_POOLS and (key not in _OPTIONAL or is_true(value))
    }


def check_qos(specs: Specs) -> None:
    """:raises BadRequest: the type's shares are to have a QoS type, of which there are none yet"""
    if name := specs.get(DEFAULT_QOS):
        raise BadRequest(f"The share type is refused: its default_qos_type {name} does not exist.")


def check_least(specs: Specs, size: int) -> None:
    """:raises BadRequest: the type's shares are larger"""
    least = bound(specs, MIN_SIZE)
    if least is not None and size < least:
        raise BadRequest(f"size {size} is refused: the share type allows {least} GiB at least.")


def check_most(specs: Specs, size: int, key: str = MAX_SIZE) -> None:
    """:raises BadRequest: the type's shares are smaller"""
    most = bound(specs, key)
    if most is not None and size > most:
        raise BadRequest(f"size {size} is refused: the share type allows {most} GiB at most.")
