"""Connections without an attachment, made by os-initialize_connection: an export a volume and connector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from pumice.block.attachments import operations
from pumice.block.attachments.connecting import await_end
from pumice.block.attachments.model import Connection
from pumice.block.backends import queue_of
from pumice.block.volumes import rules
from pumice.block.volumes.model import Volume
from pumice.kernel import moves
from pumice.kernel.db.base import new_id
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import Conflict, ServerFault
from pumice.kernel.moves import Guard
from pumice.kernel.operations.kinds import Kind
from pumice.kernel.operations.model import State

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

IDENTITY = ("host", "initiator")
"""The facts of a connector that say who it is."""

CONNECTABLE = Guard(
    Volume.status.in_(("available", "reserved", "attaching", "detaching", "in-use")),
    "The volume cannot be connected in its status: available, reserved, attaching, detaching or in-use is allowed.",
)


def connect(req: Request, volume: Volume, connector: dict[str, Any]) -> Connection:
    """The connection of a volume for a connector: that which is there, or a new one.

    :raises ServerFault: the backend refused, or did not answer in time
    """
    operation_id, connection_id = new_id(), new_id()

    def work(tx: Session) -> str:
        row = moves.touch(tx, Volume, volume.id, guards=[CONNECTABLE, rules.PLACED])
        connection = _standing(tx, row.id, connector)
        if connection is None:
            connection = Connection(
                id=connection_id, project_id=row.project_id, user_id=req.context.user_id, volume_id=row.id
            )
            tx.add(connection)
        connection.connector = connector
        _submit(tx, req, operations.LINK, row, [connection], id=operation_id)
        return connection.id

    id = req.service.db.write(work)
    ended = await_end(req, operation_id)
    if ended is None:
        _end_in_background(req, volume, id)
        seconds = req.service.conf.rpc_response_timeout
        raise ServerFault(f"Volume {volume.id} could not be connected: no answer within {seconds} seconds.")
    if ended.state == State.CANCELLED:
        raise Conflict(f"The connection of volume {volume.id} was ended by another request before it stood.")
    if ended.state == State.FAILED:
        raise ServerFault(f"Volume {volume.id} could not be connected: {ended.error}")
    with req.service.db.read() as tx:
        return everything().get(tx, Connection, id)


def _standing(tx: Session, volume_id: str, connector: dict[str, Any]) -> Connection | None:
    rows = tx.scalars(_of(volume_id, Connection.ending.is_(False)))
    return next((row for row in rows if _identity(row.connector or {}) == _identity(connector)), None)


def _identity(connector: dict[str, Any]) -> list[Any]:
    return [connector.get(name) for name in IDENTITY]


def _of(volume_id: str, *where: ColumnElement[bool]) -> Any:
    return everything().select(Connection).where(Connection.volume_id == volume_id, *where)


def _end_in_background(req: Request, volume: Volume, id: str) -> None:
    operation_id = new_id()

    def work(tx: Session) -> None:
        row = moves.lock(tx, Volume, volume.id)
        end(tx, req, row, list(tx.scalars(_of(volume.id, Connection.id == id))), id=operation_id, again=True)

    req.service.db.write(work)


def disconnect(req: Request, volume: Volume, connector: dict[str, Any] | None) -> None:
    """End the connections of a volume for a connector, or all of them, also those whose end failed before.

    :param connector: of host and initiator, what is given must be the same
    :raises ServerFault: the backend refused, or has not answered in time; it can be tried again
    """
    operation_id = new_id()

    def work(tx: Session) -> bool:
        row = moves.lock(tx, Volume, volume.id)
        rows = [one for one in tx.scalars(_of(volume.id)) if connector is None or _matches(one, connector)]
        end(tx, req, row, rows, id=operation_id)
        return bool(rows)

    if not req.service.db.write(work):
        return
    ended = await_end(req, operation_id)
    if ended is None:
        seconds = req.service.conf.rpc_response_timeout
        raise ServerFault(f"Volume {volume.id} is not disconnected yet after {seconds} seconds: it goes on.")
    if ended.state == State.FAILED:
        raise ServerFault(f"Volume {volume.id} could not be disconnected: {ended.error}")


def _matches(row: Connection, connector: dict[str, Any]) -> bool:
    facts = row.connector or {}
    return all(facts.get(name) == connector[name] for name in IDENTITY if name in connector)


def end(tx: Session, req: Request, volume: Volume, rows: list[Connection], *, id: str, again: bool = False) -> None:
    """Submit the end of connections, in the transaction that decides it; nobody makes them again from here on.

    :param again: nobody waits for it: what fails is tried again
    """
    for row in rows:
        row.ending = True
    if rows:
        _submit(tx, req, operations.UNLINK, volume, rows, id=id, again=again)


def _submit(
    tx: Session, req: Request, kind: Kind, volume: Volume, rows: list[Connection], *, id: str, again: bool = False
) -> None:
    req.service.journal.submit(
        tx,
        kind,
        req.context,
        volume,
        id=id,
        queue=queue_of(volume.backend),
        args={"volume_id": volume.id, "ids": [row.id for row in rows], "again": again},
    )
