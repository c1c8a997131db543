"""What decides whether something may be done to a volume: conditions, and what types and hints say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy import and_, exists, func, or_

from pumice.block.admin import binaries
from pumice.block.attachments.model import Attachment
from pumice.block.volumes.model import Volume
from pumice.kernel.api.values import boolean_word
from pumice.kernel.errors import BadRequest
from pumice.kernel.moves import Guard
from pumice.kernel.operations.holds import not_read
from pumice.kernel.services import WorkerService

_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)

Specs = Mapping[str, Any]

CHANGEABLE = Guard(Volume.status != "maintenance", "The volume is in maintenance: it cannot be changed.")
METADATA_CHANGEABLE = Guard(
    Volume.status.not_in(("maintenance", "uploading")),
    "The volume is in maintenance or uploading: its metadata cannot be changed.",
)
NO_MIGRATION = Guard(
    or_(
        Volume.migration_status.is_(None),
        Volume.migration_status.in_(("none", "deleting", "error", "success")),
    ),
    "The volume is being migrated.",
)
PLACED = Guard(Volume.host.is_not(None), "The volume is on no backend: it was never made.")
NO_ATTACHMENTS = Guard(
    ~exists().where(Attachment.volume_id == Volume.id, Attachment.status != "detached"),
    "The volume is attached: detach it first.",
)
NO_GROUP = Guard(
    and_(Volume.group_id.is_(None), Volume.consistencygroup_id.is_(None)),
    "The volume is in a group: take it out first.",
)
_SERVED_AS = func.coalesce(WorkerService.cluster, WorkerService.host)
NOT_FROZEN = Guard(
    ~exists().where(
        WorkerService.frozen,
        WorkerService.binary == binaries.VOLUME,
        func.substr(Volume.host, 1, func.length(_SERVED_AS) + 1) == _SERVED_AS.concat("#"),
    ),
    "The backend of the volume is frozen: nothing is created or deleted on it.",
)
NOT_READ = not_read(Volume.id, "volume")


def is_true(spec: str | None) -> bool:
    """Whether an extra spec says "<is> True"."""
    operator, _, word = (spec or "").strip().partition(" ")
    try:
        return operator == "<is>" and boolean_word(word)
    except ValueError:
        return False


def wants_multiattach(specs: Specs) -> bool:
    return is_true(specs.get("multiattach"))


def zones_of(specs: Specs) -> list[str]:
    """The zones that a type is bound to (RESKEY:availability_zones); empty: any."""
    return [zone.strip() for zone in (specs.get("RESKEY:availability_zones") or "").split(",") if zone.strip()]


def check_size(specs: Specs, size: int) -> None:
    """:raises BadRequest: `size` (GiB) is outside the type's provisioning:min_vol_size and :max_vol_size"""
    least, most = (_gib(specs.get(f"provisioning:{bound}_vol_size")) for bound in ("min", "max"))
    if (least is not None and size < least) or (most is not None and size > most):
        bounds = f"{least or 1} GiB at least" + (f", {most} GiB at most" if most is not None else "")
        raise BadRequest(f"size {size} is refused: the volume type allows {bounds}.")


def _gib(text: str | None) -> int | None:
    return int(text) if text and text.strip().isdecimal() else None


def check_hints(hints: Mapping[str, Any] | None) -> None:
    """:raises BadRequest: a scheduler hint that has a form does not have it; others are passed on as they are"""
    for name, value in (hints or {}).items():
        if name == "local_to_instance" and not _is_uuid(value):
            raise BadRequest(f"OS-SCH-HNT:scheduler_hints.{name} is refused: a UUID is allowed.")
        if name in ("different_host", "same_host"):
            ids = value if isinstance(value, list) else [value]
            if not ids or not all(_is_uuid(one) for one in ids):
                raise BadRequest(f"OS-SCH-HNT:scheduler_hints.{name} is refused: a UUID or a list of them is allowed.")
        if name == "query" and not isinstance(value, str | dict):
            raise BadRequest(f"OS-SCH-HNT:scheduler_hints.{name} is refused: text or an object is allowed.")


def _is_uuid(value: Any) -> bool:
    return isinstance(value, str) and _UUID.fullmatch(value) is not None
