"""The exports that rows ask for: attachments with a connection, and connections without an attachment."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import or_, update
from sqlalchemy.orm import Session

from pumice.block.attachments.model import Attachment, Connection
from pumice.block.drivers.base import Connector, Export, VolumeRef
from pumice.block.volumes.model import Volume
from pumice.kernel.db.scope import everything


def export_of(row: Attachment | Connection, volume: Volume) -> Export:
    """The export that belongs to an attachment or a connection; its id is the row's."""
    return Export(
        id=row.id,
        volume=VolumeRef(id=volume.id, size=volume.size, pool=volume.pool),
        connector=Connector(row.connector or {}),
        read_only=row.attach_mode == "ro"
        if isinstance(row, Attachment)
        else volume.admin_meta.get("readonly") == "True",
        connection=row.connection,
    )


def end_exports(tx: Session, volume_id: str) -> None:
    """Have nobody make a volume's exports again, in the transaction that decides to remove them."""
    for model in (Attachment, Connection):
        tx.execute(update(model).where(model.volume_id == volume_id).values(ending=True))


def exports_of(tx: Session, volume: Volume) -> list[Export]:
    """Every export that the volume may have."""
    attachments = tx.scalars(everything().select(Attachment).where(Attachment.volume_id == volume.id))
    connections = tx.scalars(everything().select(Connection).where(Connection.volume_id == volume.id))
    return [export_of(row, volume) for row in (*attachments, *connections)]


def wanted_exports(tx: Session, backend: str, id: str | None = None) -> list[Export]:
    """The exports that the rows of a backend's volumes ask for: all, or that of one row."""
    result = []
    for model in (Attachment, Connection):
        statement = (
            everything()
            .columns(model, model, Volume)
            .join(Volume, Volume.id == model.volume_id)
            .where(Volume.host.startswith(f"{backend}#", autoescape=True))
            .where(model.connection.is_not(None), model.ending.is_(False))
        )
        if id is not None:
            statement = statement.where(model.id == id)
        rows: Any = tx.execute(statement)
        result += [export_of(row, volume) for row, volume in rows]
    return result


def known_exports(tx: Session, ids: Collection[str]) -> set[str]:
    """Those of the ids that a row answers for: it has a connection, or an operation that makes or removes one.

    What a failed connect has left, as the backend refused to remove it, has neither.
    """
    answers = or_(Attachment.connection.is_not(None), Attachment.operation_id.is_not(None))
    attachments = everything().columns(Attachment, Attachment.id).where(Attachment.id.in_(ids), answers)
    connections = everything().columns(Connection, Connection.id).where(Connection.id.in_(ids))
    return {*tx.scalars(attachments), *tx.scalars(connections)}
