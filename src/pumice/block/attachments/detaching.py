"""Ending attachments: at once where no export was made, else by the backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete
from sqlalchemy.orm import Session

from pumice.block.attachments import connections, operations, usage
from pumice.block.attachments.connecting import await_end
from pumice.block.attachments.derive import derive
from pumice.block.attachments.model import Attachment, Connection
from pumice.block.backends import queue_of
from pumice.block.volumes.model import Volume
from pumice.block.volumes.notifications import describe
from pumice.kernel import moves
from pumice.kernel.db.base import new_id
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import Conflict, ServerFault
from pumice.kernel.operations.model import State

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


def detach(req: Request, attachment: Attachment) -> None:
    """End an attachment that `usage.refuse_if_used` has found nothing against.

    A second request for the same waits for the first one's end.

    :raises ServerFault: the backend refused, or has not answered in time; it can be tried again
    """
    operation_id = new_id()
    ending: str | None = req.service.db.write(lambda tx: _begin(tx, req, attachment, operation_id))
    if ending is None:
        return
    ended = await_end(req, ending)
    if ended is None:
        seconds = req.service.conf.rpc_response_timeout
        raise ServerFault(f"Attachment {attachment.id} is not detached yet after {seconds} seconds: it goes on.")
    if ended.state == State.FAILED:
        raise ServerFault(f"Attachment {attachment.id} could not be detached: {ended.error}")
    with req.service.db.read() as tx:
        if ended.state == State.CANCELLED and everything().find(tx, Attachment, attachment.id):
            raise Conflict(f"Attachment {attachment.id} was changed by another request before it was detached.")


def _begin(tx: Session, req: Request, seen: Attachment, operation_id: str) -> str | None:
    """The operation that ends the attachment; None when nothing had to be asked of the backend."""
    volume = moves.lock(tx, Volume, seen.volume_id)
    row = moves.lock(tx, Attachment, seen.id)
    if row.ending and row.operation_id:
        return row.operation_id
    if seen.connection is None and row.connection is not None and row.instance_uuid and not usage.is_service(req):
        # It was free to go because it had no connection.
        raise Conflict(f"Attachment {row.id} has just been connected by another request.")
    if row.connector is None:
        _remove_at_once(tx, req, volume, row)
        return None
    req.service.journal.begin(
        tx,
        operations.DISCONNECT,
        req.context,
        id=operation_id,
        queue=queue_of(volume.backend),
        resource_id=row.id,
        args={"volume_id": volume.id},
        ending=True,
    )
    derive(tx, volume.id)
    return operation_id


def _remove_at_once(tx: Session, req: Request, volume: Volume, row: Attachment) -> None:
    emit = req.service.notifier.emit
    emit(tx, row.id, "volume.detach.start", describe(tx, volume))
    tx.execute(delete(Attachment).where(Attachment.id == row.id))
    derive(tx, volume.id)
    emit(tx, row.id, "volume.detach.end", describe(tx, moves.lock(tx, Volume, volume.id)))


def release_all(tx: Session, req: Request, volume: Volume, operation_id: str) -> None:
    """Take all attachments off a volume (os-reset_status); their exports are removed in the background.

    They leave as connections that are about to end, for which nobody waits. The volume's statuses are the
    caller's to set.

    :param operation_id: of the operation that removes them
    """
    rows = tx.scalars(everything().select(Attachment).where(Attachment.volume_id == volume.id)).all()
    for row in rows:
        req.service.journal.supersede(tx, Attachment, row.id)
    tx.execute(delete(Attachment).where(Attachment.volume_id == volume.id))
    left = [
        Connection(
            id=row.id,
            project_id=row.project_id,
            user_id=row.user_id,
            volume_id=volume.id,
            connector=row.connector,
            connection=row.connection,
        )
        for row in rows
        if row.connector is not None
    ]
    tx.add_all(left)
    standing = tx.scalars(everything().select(Connection).where(Connection.volume_id == volume.id))
    connections.end(tx, req, volume, list(standing), id=operation_id, again=True)
