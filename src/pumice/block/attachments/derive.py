"""What a volume's attachments say of the volume: its attach status, and its status between reserve and detach."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy.orm import Session

from pumice.block.attachments.model import Attachment
from pumice.block.volumes.model import Volume
from pumice.kernel import moves
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import NotFound

FOLLOWING = frozenset(
    [
        "available",
        "reserved",
        "attaching",
        "detaching",
        "in-use",
        "error",
        "error_extending",
        "error_restoring",
        "error_backing-up",
    ]
)
"""Statuses of volumes that give way to what the attachments say; others (maintenance, …) stay."""

RANKS = (
    ("attached", "in-use", "attached"),
    ("attaching", "attaching", "attaching"),
    ("detaching", "detaching", "attached"),
    # Its export may still be there: the volume is as much in use as it was before.
    ("error_detaching", "in-use", "error_detaching"),
    ("reserved", "reserved", "reserved"),
    ("error_attaching", "reserved", "error_attaching"),
)
"""The first of these words that some attachment is in decides: (word, volume's status, its attach status)."""


def derive(tx: Session, volume_id: str, but: Mapping[str, str | None] | None = None) -> None:
    """Set a volume's statuses from its attachments, in the transaction that changes one of them.

    While an operation moves the volume, the status that it will go back to follows instead. A volume that is
    gone has nothing to set.

    :param but: statuses that attachments (by id) are about to get in this transaction; None: the row is removed
    """
    try:
        volume = moves.lock(tx, Volume, volume_id)
    except NotFound:
        return
    but = but or {}
    found = everything().select(Attachment).where(Attachment.volume_id == volume_id)
    rows = tx.scalars(found.execution_options(populate_existing=True))
    words = [word for row in rows if (word := but.get(row.id, _word(row)))]
    status, attach_status = _outcome(words)
    values: dict[str, Any] = {"attach_status": attach_status}
    if not words:
        values["admin_meta"] = {key: value for key, value in volume.admin_meta.items() if key != "attached_mode"}
    if volume.operation_id is not None:
        values["previous_status"] = status
    elif volume.status in FOLLOWING:
        values["status"] = status
    moves.touch(tx, Volume, volume_id, **values)


def _word(row: Attachment) -> str:
    return "detaching" if row.ending and row.operation_id else row.status


def _outcome(words: Iterable[str]) -> tuple[str, str]:
    for word, status, attach_status in RANKS:
        if word in words:
            return status, attach_status
    return "available", "detached"
