"""Having a backend export a volume for an attachment, and waiting for the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.block.attachments import operations
from pumice.block.attachments.derive import derive
from pumice.block.attachments.model import Attachment
from pumice.block.backends import queue_of
from pumice.block.volumes.model import Volume
from pumice.kernel import moves
from pumice.kernel.db.base import new_id
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import Conflict, ServerFault
from pumice.kernel.operations.model import Operation, State

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


def begin_connect(
    tx: Session, req: Request, volume: Volume, attachment: Attachment, *, connector: dict[str, Any], operation_id: str
) -> None:
    """Begin to connect; the same connector again gets the connection that is there, another one a new export.

    :raises Conflict: the attachment is being changed by another request, or its status does not allow this
    """
    again = attachment.connection is not None and attachment.connector == connector
    replaces = not again and attachment.connector is not None
    values: dict[str, Any] = {"connection": None} if replaces else {}
    req.service.journal.begin(
        tx,
        operations.CONNECT,
        req.context,
        id=operation_id,
        queue=queue_of(volume.backend),
        resource_id=attachment.id,
        args={"volume_id": volume.id, "replaces": replaces},
        connector=connector,
        attached_host=connector.get("host"),
        mountpoint=connector.get("mountpoint"),
        **values,
    )
    derive(tx, volume.id)


def await_connect(req: Request, attachment_id: str, operation_id: str) -> Attachment:
    """The attachment, once it is connected.

    :raises ServerFault: the backend refused, or did not answer in time
    :raises Conflict: another request took the attachment away meanwhile
    """
    ended = await_end(req, operation_id)
    if ended is None:
        ended = _give_up(req, attachment_id, operation_id)
    if ended.state == State.CANCELLED:
        raise Conflict(f"Attachment {attachment_id} was changed by another request before it was connected.")
    if ended.state == State.FAILED:
        raise ServerFault(f"Attachment {attachment_id} could not be connected: {ended.error}")
    with req.service.db.read() as tx:
        return everything().get(tx, Attachment, attachment_id)


def await_end(req: Request, operation_id: str) -> Operation | None:
    """The operation once it has ended; None when it has not within `rpc_response_timeout`."""
    return req.service.waiter.wait(operation_id, float(req.service.conf.rpc_response_timeout))


def _give_up(req: Request, attachment_id: str, operation_id: str) -> Operation:
    """Cancel a connect, and have what it may have made removed; the operation, if it has ended just now.

    :raises ServerFault: it was given up
    """
    clean_up_id = new_id()

    def work(tx: Session) -> Operation | None:
        found = everything().get(tx, Attachment, attachment_id)
        volume = moves.lock(tx, Volume, found.volume_id)
        row = moves.lock(tx, Attachment, attachment_id)
        operation = tx.get_one(Operation, operation_id)
        if row.operation_id != operation_id:
            return operation
        req.service.journal.begin(
            tx,
            operations.CLEAN_UP,
            req.context,
            id=clean_up_id,
            queue=operation.queue,
            resource_id=attachment_id,
            args={"volume_id": volume.id},
        )
        derive(tx, volume.id)
        return None

    ended: Operation | None = req.service.db.write(work)
    if ended is None:
        seconds = req.service.conf.rpc_response_timeout
        raise ServerFault(f"Attachment {attachment_id} could not be connected: no answer within {seconds} seconds.")
    return ended
