"""What decides whether something may be done to a share: conditions, and what types and hints say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy import exists

from pumice.kernel.api.values import boolean_word
from pumice.kernel.errors import ApiError, BadRequest, Forbidden
from pumice.kernel.moves import Guard
from pumice.kernel.operations.model import Hold
from pumice.share.shares.model import Share, ShareInstance
from pumice.share.shares.moves import BUSY_TASKS
from pumice.share.snapshots.model import ShareSnapshot

Specs = Mapping[str, Any]

CAPABILITIES = (
    "snapshot_support",
    "create_share_from_snapshot_support",
    "revert_to_snapshot_support",
    "mount_snapshot_support",
    "snapshot_inherit_share_access_support",
)
"""Optional specs of types that a share has as its own when it is made."""

_OPTIONAL = (*CAPABILITIES, "mount_point_name_support")
_NOT_OF_POOLS = ("availability_zones", "default_qos_type")
_MOUNT_POINT = re.compile(r"[A-Za-z0-9_-]{1,255}")
_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)

NO_SNAPSHOTS = Guard(
    ~exists().where(ShareSnapshot.share_id == ShareInstance.share_id),
    "The share has snapshots: delete them first.",
    Forbidden,
)
NOT_READ = Guard(
    ~exists().where(Hold.resource_id == ShareInstance.share_id),
    "The share is being copied by another request: try again when that has ended.",
    Forbidden,
)
PLACED = Guard(ShareInstance.host.is_not(None), "The share is on no backend: it was never made.")


def refuse_recycled(share: Share) -> None:
    """:raises Forbidden: the share is in the recycle bin"""
    if share.is_soft_deleted:
        raise Forbidden(f"Share {share.id} is in the recycle bin: restore it first.")


def refuse_busy(share: Share, error: type[ApiError] = BadRequest) -> None:
    """:raises ApiError: a migration is under way"""
    if share.task_state in BUSY_TASKS:
        raise error(f"Share {share.id} is busy: its task state is {share.task_state}.")


def is_true(spec: Any) -> bool:
    """Whether an extra spec says yes: "True", "<is> True"."""
    word = str(spec if spec is not None else "").strip().removeprefix("<is>")
    try:
        return boolean_word(word)
    except ValueError:
        return False


def wanted_capabilities(specs: Specs) -> dict[str, Any]:
    """The extra specs that a pool must match. What a type does not need, a pool may have."""
    return {
        name: value
        for name, value in specs.items()
        if name not in _NOT_OF_POOLS and (name not in _OPTIONAL or is_true(value))
    }


def zones_of(specs: Specs) -> list[str]:
    """The zones that a type is bound to (availability_zones); empty: any."""
    return [zone.strip() for zone in str(specs.get("availability_zones") or "").split(",") if zone.strip()]


def bound(specs: Specs, name: str) -> int | None:
    """A size in GiB that a type says under provisioning:<name>."""
    text = str(specs.get(f"provisioning:{name}") or "").strip()
    return int(text) if text.isdecimal() else None


def check_least(specs: Specs, size: int) -> None:
    """:raises BadRequest: the type's shares are larger"""
    least = bound(specs, "min_share_size")
    if least is not None and size < least:
        raise BadRequest(f"size {size} is refused: the share type allows {least} GiB at least.")


def check_most(specs: Specs, size: int, name: str = "max_share_size") -> None:
    """:raises BadRequest: the type's shares are smaller"""
    most = bound(specs, name)
    if most is not None and size > most:
        raise BadRequest(f"size {size} is refused: the share type allows {most} GiB at most.")


def affinity(hints: Mapping[str, Any], name: str) -> list[str]:
    """The ids of shares that a hint (same_host, different_host) names, one or several with commas between.

    :raises BadRequest: it holds something else
    """
    value = hints.get(name) or ""
    ids = [one.strip() for one in value.split(",") if one.strip()] if isinstance(value, str) else [None]
    if not all(one and _UUID.fullmatch(one) for one in ids):
        raise BadRequest(f"scheduler_hints.{name} is refused: ids of shares, with commas between, are allowed.")
    return [one for one in ids if one]


def mount_point(specs: Specs, name: str, prefix: str) -> str:
    """The last part of a share's path as its creator wished for it, with the prefix.

    :raises BadRequest: the type does not allow wishes, or the name cannot be one
    """
    if not is_true(specs.get("mount_point_name_support")):
        raise BadRequest("mount_point_name is refused: the share type has no mount_point_name_support.")
    whole = f"{prefix}{name}"
    if not _MOUNT_POINT.fullmatch(name) or not _MOUNT_POINT.fullmatch(whole):
        raise BadRequest(
            "mount_point_name is refused: letters, digits, - and _ are allowed, 255 with the prefix at most."
        )
    return whole
