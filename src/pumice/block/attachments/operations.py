"""What is done to exports: made and removed for attachments, and for connections without one.

All steps hold their volume's lock while they look at the row and call the driver, so that nobody makes an export
that somebody else is about to remove.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from pumice.block.attachments import moves
from pumice.block.attachments.derive import derive
from pumice.block.attachments.exports import export_of
from pumice.block.attachments.model import Attachment, Connection
from pumice.block.backends import alone, driver_of, refused, refused_as
from pumice.block.drivers.base import Export
from pumice.block.message_codes import Action, Detail
from pumice.block.types.model import VolumeType
from pumice.block.volumes import notifications, rules
from pumice.block.volumes.model import Volume
from pumice.kernel.db.engine import changed
from pumice.kernel.db.scope import everything
from pumice.kernel.drivers import BackendError
from pumice.kernel.moves import Move, Superseded
from pumice.kernel.operations.kinds import Done, Kind, Next, Outcome, Step
from pumice.kernel.operations.model import Lane, Operation
from pumice.kernel.operations.worker import Run
from pumice.kernel.steps import leave_nothing, row_of
from pumice.kernel.types import specs_of

LOG = logging.getLogger(__name__)

RETRY = 5.0
"""Seconds until an export that nobody waits for is tried to be removed again."""
ANSWERED = 600.0
"""Seconds that a connect may take at most, should the API that waits for it be gone."""


def _connect(run: Run) -> Outcome:
    attachment, volume = _attachment(run)
    export = export_of(attachment, volume)
    return Done({"connection": _make(run, export, volume, replaces=run.args["replaces"])})


def _make(run: Run, export: Export, volume: Volume, *, replaces: bool = False) -> dict[str, Any]:
    """Make an export and return its connection, with what the API adds to a driver's answer."""
    driver = driver_of(run)
    try:
        if replaces:
            driver.disconnect(export)
        answer = driver.connect(export)
    except BackendError as error:
        leave_nothing(run, f"export {export.id} of volume {volume.id}", lambda: driver.disconnect(export))
        raise refused(error, Detail.UNKNOWN) from error
    return _described(run, answer, volume, read_only=export.read_only)


def _described(run: Run, answer: Mapping[str, Any], volume: Volume, *, read_only: bool) -> dict[str, Any]:
    with run.db.read() as tx:
        specs = specs_of(tx, VolumeType, volume.volume_type_id)
    data = {
        **answer["data"],
        "access_mode": "ro" if read_only else "rw",
        "encrypted": volume.encryption_key_id is not None,
        "qos_specs": None,
        "cacheable": rules.is_true(specs.get("cacheable")) and not volume.multiattach,
    }
    return {**answer, "data": data}


def _disconnect(run: Run) -> Outcome:
    attachment, volume = _attachment(run)
    _remove(run, export_of(attachment, volume))
    return Done(also=lambda tx: derive(tx, volume.id, {attachment.id: None}))


def _clean_up(run: Run) -> Outcome:
    attachment, volume = _attachment(run)
    _remove(run, export_of(attachment, volume))
    return Done({"connection": None})


def _remove(run: Run, export: Export) -> None:
    with refused_as(Detail.UNKNOWN):
        driver_of(run).disconnect(export)


def _attachment(run: Run) -> tuple[Attachment, Volume]:
    """The attachment that the operation owns, and its volume.

    :raises Superseded: it has another owner, or is gone
    """
    with run.db.read() as tx:
        row = everything().find(tx, Attachment, run.operation.resource_id)
    if row is None or row.operation_id != run.operation.id:
        raise Superseded(f"attachment {run.operation.resource_id} is not operation {run.operation.id}'s")
    return row, row_of(run, Volume, row.volume_id)


def _ends_in(status: str) -> Any:
    """The undo of a kind whose failure leaves the attachment in `status`."""
    return lambda tx, operation: derive(tx, operation.args["volume_id"], {operation.resource_id: status})


# Connections without an attachment


def _link(run: Run) -> Outcome:
    [row], volume = _connections(run)
    connection = _make(run, export_of(row, volume), volume)

    def also(tx: Session) -> None:
        wanted = update(Connection).where(Connection.id == row.id, Connection.ending.is_(False))
        if not changed(tx, wanted.values(connection=connection)):
            raise Superseded(f"connection {row.id} is being ended")

    return Done(also=also)


def _unlink(run: Run) -> Outcome:
    """Remove exports; where nobody waits for it ("again"), as often as it takes."""
    rows, volume = _connections(run)
    try:
        for row in rows:
            driver_of(run).disconnect(export_of(row, volume))
    except BackendError as error:
        if not run.args["again"]:
            raise refused(error, Detail.UNKNOWN) from error
        LOG.warning("exports of volume %s could not be removed yet: %s", volume.id, error)
        return Next("run", delay=RETRY)

    def also(tx: Session) -> None:
        tx.execute(delete(Connection).where(Connection.id.in_([row.id for row in rows])))

    return Done(also=also)


def _connections(run: Run) -> tuple[list[Connection], Volume]:
    """The connections that the operation is about, and their volume.

    :raises Superseded: one that was to be made is gone or about to end
    """
    with run.db.read() as tx:
        rows = list(tx.scalars(everything().select(Connection).where(Connection.id.in_(run.args["ids"]))))
    if (run.operation.kind == LINK.name and any(row.ending for row in rows)) or not rows:
        raise Superseded(f"connections of volume {run.operation.resource_id} are gone")
    return rows, row_of(run, Volume)


def _describe(tx: Session, attachment: Attachment) -> dict[str, Any]:
    return notifications.describe(tx, everything().get(tx, Volume, attachment.volume_id))


def _about_volume(operation: Operation) -> tuple[str, str]:
    return "VOLUME", operation.args["volume_id"]


def _kind(name: str, move: Move, step: Step, **more: Any) -> Kind:
    return Kind(
        name=f"attachment.{name}",
        resource_type="VOLUME_ATTACHMENT",
        subject=_about_volume,
        model=Attachment,
        move=move,
        steps={"run": alone(step)},
        describe=_describe,
        lane=Lane.FAST,
        **more,
    )


CONNECT = _kind(
    "connect",
    moves.CONNECT,
    _connect,
    undo=_ends_in("error_attaching"),
    action=Action.UPDATE_ATTACHMENT,
    event="volume.attach",
    seconds=ANSWERED,
)
DISCONNECT = _kind("disconnect", moves.DISCONNECT, _disconnect, undo=_ends_in("error_detaching"), event="volume.detach")
CLEAN_UP = _kind("clean_up", moves.CLEAN_UP, _clean_up)
LINK = Kind(
    name="connection.connect",
    resource_type="VOLUME",
    steps={"run": alone(_link)},
    lane=Lane.FAST,
    action=Action.ATTACH,
    seconds=ANSWERED,
)
UNLINK = Kind(name="connection.disconnect", resource_type="VOLUME", steps={"run": alone(_unlink)}, lane=Lane.FAST)

KINDS = (CONNECT, DISCONNECT, CLEAN_UP, LINK, UNLINK)
