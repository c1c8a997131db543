"""Accepting the deletion of a volume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import exists
from sqlalchemy.orm import Session

from pumice.block.attachments.exports import end_exports
from pumice.block.backends import queue_of
from pumice.block.snapshots.model import Snapshot
from pumice.block.volumes import operations, rules
from pumice.block.volumes.model import Volume
from pumice.kernel import moves
from pumice.kernel.db.base import new_id
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import BadRequest
from pumice.kernel.moves import Guard
from pumice.kernel.operations.holds import not_read

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

ALWAYS = (rules.NO_ATTACHMENTS, rules.NO_MIGRATION, rules.NO_GROUP, rules.NOT_READ, rules.NOT_FROZEN)
CASCADE_FROM = ("available", "error", "deleting", "error_deleting")


def delete(req: Request, volume: Volume, *, cascade: bool, force: bool) -> None:
    """Have a volume deleted, with its snapshots when `cascade`, from any status when `force`.

    A volume that was never placed has nothing on a backend: it goes at once.
    """
    operation_id = new_id()
    kind = operations.FORCE_DELETE if force else operations.DELETE

    def work(tx: Session) -> None:
        row = moves.lock(tx, Volume, volume.id)
        snapshots = list(tx.scalars(everything().select(Snapshot).where(Snapshot.volume_id == volume.id)))
        if snapshots and cascade:
            _take_along(tx, req, volume, snapshots, operation_id)
        guards = [*ALWAYS, _no_snapshots([one.id for one in snapshots], allowed=cascade)]
        if row.host is None:
            req.service.journal.remove(tx, kind, row, operations.remove_rows, guards)
            return
        req.service.journal.begin(
            tx,
            kind,
            req.context,
            id=operation_id,
            queue=queue_of(row.backend),
            resource_id=volume.id,
            guards=guards,
        )
        end_exports(tx, volume.id)
        req.reply_headers["X-Operation-Id"] = operation_id

    req.service.db.write(work)


def _no_snapshots(ids: list[str], *, allowed: bool) -> Guard:
    of_volume = exists().where(Snapshot.volume_id == Volume.id)
    if allowed:
        of_volume = of_volume.where(Snapshot.id.not_in(ids))
    return Guard(
        ~of_volume,
        f"The volume has snapshots ({', '.join(sorted(ids))}): delete them first, or delete it with cascade=true.",
    )


def _take_along(tx: Session, req: Request, volume: Volume, snapshots: list[Snapshot], operation_id: str) -> None:
    """Have the snapshots go with the volume; the operation owns them from here on."""
    for snapshot in snapshots:
        if not req.context.is_admin and snapshot.project_id != volume.project_id:
            raise BadRequest(f"Snapshot {snapshot.id} belongs to another project: it cannot go along.")
        guards = [
            Guard(
                Snapshot.status.in_(CASCADE_FROM),
                f"Snapshot {snapshot.id} has status {snapshot.status}: "
                "only one that is available, error or being deleted can go along.",
            ),
            Guard(Snapshot.group_snapshot_id.is_(None), f"Snapshot {snapshot.id} is part of a group snapshot."),
            not_read(Snapshot.id, f"snapshot {snapshot.id}"),
        ]
        moves.touch(tx, Snapshot, snapshot.id, guards=guards, status="deleting", operation_id=operation_id)
