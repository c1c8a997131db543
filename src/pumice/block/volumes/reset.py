"""os-reset_status: an administrator says what a volume's statuses are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, UnsetType
from sqlalchemy import exists
from sqlalchemy.orm import Session

from pumice.block.attachments.detaching import release_all
from pumice.block.attachments.model import Attachment
from pumice.block.volumes.model import Volume
from pumice.block.volumes.moves import STATUSES
from pumice.kernel import moves
from pumice.kernel.api.shapes import Shape
from pumice.kernel.api.values import one_of
from pumice.kernel.db.base import new_id
from pumice.kernel.errors import BadRequest
from pumice.kernel.moves import Guard

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

REFUSED = frozenset(("deleting", "error_deleting", "detaching"))
"""Statuses that only a running deletion or detach may give."""

Status = Annotated[str, one_of(*sorted(STATUSES))]
AttachStatus = Annotated[str, one_of("attached", "detached")]
MigrationStatus = Annotated[str, one_of("none", "migrating", "error", "success", "completing", "starting")]


class ResetStatus(Shape, strict=True):
    status: Status | UnsetType | None = UNSET
    attach_status: AttachStatus | UnsetType | None = UNSET
    migration_status: MigrationStatus | UnsetType | None = UNSET


def reset_status(req: Request, volume: Volume) -> None:
    """The volume rests in what was set until the next move; an operation that had it has no say any more."""
    given: dict[str, Any] = req.body.given()
    if not given:
        raise BadRequest("At least one of status, attach_status and migration_status is needed.")
    status, attach_status = given.get("status"), given.get("attach_status")
    if status in REFUSED:
        raise BadRequest(f"status {status} is refused: it is the result of a deletion or a detach.")
    guards = []
    if status == "in-use":
        attached = exists().where(Attachment.volume_id == Volume.id)
        guards.append(Guard(attached, "status in-use is refused: the volume has no attachment."))
    values = {name: value for name, value in given.items() if value is not None}
    if values.get("migration_status") == "none":
        values["migration_status"] = None
    release_id = new_id()

    def work(tx: Session) -> None:
        row = moves.lock(tx, Volume, volume.id)
        if status is not None:
            req.service.journal.supersede(tx, Volume, volume.id)
            values["operation_id"] = None
        if attach_status == "detached":
            release_all(tx, req, row, release_id)
            values["admin_meta"] = {key: value for key, value in row.admin_meta.items() if key != "attached_mode"}
        moves.touch(tx, Volume, volume.id, guards=guards, **values)

    req.service.db.write(work)
