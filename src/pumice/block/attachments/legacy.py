"""The older way to attach: actions of volumes, one a step, that the caller strings together (section 7 of the API)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, exists, or_
from sqlalchemy.orm import Session

from pumice.block.attachments import connections
from pumice.block.attachments.derive import derive
from pumice.block.attachments.detaching import detach as end_attachment
from pumice.block.attachments.model import Attachment
from pumice.block.attachments.moves import BEGIN_DETACHING, RESERVE
from pumice.block.attachments.shapes import Attach, Connect, Detach, Disconnect, ForceDetach, enforces_multipath
from pumice.block.attachments.usage import refuse_if_used
from pumice.block.volumes import rules
from pumice.block.volumes.model import Volume
from pumice.block.volumes.notifications import describe
from pumice.kernel import moves
from pumice.kernel.db.base import new_id, utcnow
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import BadRequest
from pumice.kernel.moves import Guard

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

_FREE_OR_SHARED = Guard(or_(Volume.status == "available", Volume.multiattach), "The volume is in use by another host.")
_ATTACHED = Guard(Volume.attach_status == "attached", "The volume is not attached.")
_MIGRATING = ("migrating", "starting", "completing")


def reserve(req: Request, volume: Volume) -> None:
    """os-reserve: keep the volume for whoever is about to attach it."""
    guards = [_FREE_OR_SHARED]
    req.service.db.write(lambda tx: moves.begin(tx, Volume, volume.id, RESERVE, operation_id=None, guards=guards))


def unreserve(req: Request, volume: Volume) -> None:
    """os-unreserve: a volume that was only reserved is what its attachments say again."""
    _follow(req, volume, "attaching")


def begin_detaching(req: Request, volume: Volume) -> None:
    """os-begin_detaching: while a volume is migrated, compute swaps it for itself and nothing is to be done."""
    if volume.migration_status in _MIGRATING:
        return
    guards = [_ATTACHED, rules.NO_MIGRATION]
    req.service.db.write(
        lambda tx: moves.begin(tx, Volume, volume.id, BEGIN_DETACHING, operation_id=None, guards=guards)
    )


def roll_detaching(req: Request, volume: Volume) -> None:
    _follow(req, volume, "detaching")


def _follow(req: Request, volume: Volume, *statuses: str) -> None:
    """Have a volume that is in one of the statuses follow its attachments again."""

    def work(tx: Session) -> None:
        if moves.lock(tx, Volume, volume.id).status in statuses:
            derive(tx, volume.id)

    req.service.db.write(work)


def attach(req: Request, volume: Volume) -> None:
    """os-attach: the volume is in use by a server or host; to the same one again it changes nothing."""
    asked: Attach = req.body
    if not (asked.instance_uuid or asked.host_name):
        raise BadRequest("At least one of instance_uuid and host_name is needed.")
    attachment_id = new_id()

    def work(tx: Session) -> None:
        row = moves.lock(tx, Volume, volume.id)
        if tx.scalars(everything().select(Attachment).where(_same_user(asked), _of(row.id))).first():
            moves.touch(tx, Volume, row.id, guards=[rules.CHANGEABLE])
            return
        emit = req.service.notifier.emit
        emit(tx, attachment_id, "volume.attach.start", describe(tx, row))
        admin_meta = row.admin_meta | {"attached_mode": asked.mode}
        moves.touch(tx, Volume, row.id, guards=_attachable(row, asked.mode), admin_meta=admin_meta)
        tx.add(
            Attachment(
                id=attachment_id,
                project_id=row.project_id,
                user_id=req.context.user_id,
                volume_id=row.id,
                instance_uuid=asked.instance_uuid,
                attached_host=asked.host_name,
                mountpoint=asked.mountpoint,
                attach_mode=asked.mode,
                status="attached",
                attached_at=utcnow(),
            )
        )
        tx.flush()
        derive(tx, row.id)
        emit(tx, attachment_id, "volume.attach.end", describe(tx, row))

    req.service.db.write(work)


def _of(volume_id: str) -> Any:
    return and_(Attachment.volume_id == volume_id, Attachment.status == "attached")


def _same_user(asked: Attach) -> Any:
    """Attachments to the same server, or, where no server is named, to the same host."""
    if asked.instance_uuid:
        return Attachment.instance_uuid == asked.instance_uuid
    return and_(Attachment.instance_uuid.is_(None), Attachment.attached_host == asked.host_name)


def _attachable(volume: Volume, mode: str) -> list[Guard]:
    if volume.admin_meta.get("readonly") == "True" and mode != "ro":
        raise BadRequest(f"mode {mode} is refused: the volume is readonly, and only ro is allowed.")
    before = volume.admin_meta.get("attached_mode", mode)
    if volume.status == "attaching" and before != mode:
        raise BadRequest(f"mode {mode} is refused: the volume is being attached with mode {before}.")
    shared = or_(Volume.multiattach, Volume.migration_status.in_(_MIGRATING))
    return [
        rules.CHANGEABLE,
        Guard(
            Volume.status.in_(("available", "attaching", "in-use")),
            f"The volume has status {volume.status}: it is attached only in status available, attaching or in-use.",
        ),
        Guard(
            or_(~exists().where(Attachment.volume_id == Volume.id), shared),
            "The volume is in use, and it is not multiattach.",
        ),
        Guard(or_(Volume.status != "in-use", shared), "The volume is in use, and it is not multiattach."),
    ]


def detach(req: Request, volume: Volume) -> None:
    """os-detach: the volume is not in use any more by one attachment; with none left it is available."""
    asked: Detach = req.body
    req.service.db.write(lambda tx: moves.touch(tx, Volume, volume.id, guards=[rules.CHANGEABLE]))
    _end(req, volume, _meant(req, volume, asked.attachment_id))


def _end(req: Request, volume: Volume, attachment: Attachment | None) -> None:
    if attachment is None:
        _follow(req, volume, "in-use", "detaching", "attaching")
    else:
        end_attachment(req, attachment)


def _meant(req: Request, volume: Volume, attachment_id: str | None) -> Attachment | None:
    """The attachment that a call is about; None when the volume has none at all and none was named.

    :raises BadRequest: it is not clear which attachment is meant
    :raises Conflict: a server uses it, and the caller is not the compute service
    """
    with req.service.db.read() as tx:
        elsewhere = attachment_id and everything().find(tx, Attachment, attachment_id)
        if elsewhere and elsewhere.volume_id != volume.id:
            raise BadRequest(f"attachment_id {attachment_id} is refused: it is not an attachment of this volume.")
        rows = tx.scalars(everything().select(Attachment).where(Attachment.volume_id == volume.id)).all()
    refuse_if_used(req, volume.id, attachment_id)
    if attachment_id is None and len(rows) > 1:
        raise BadRequest(f"The volume has {len(rows)} attachments: attachment_id must say which of them is meant.")
    found = next((row for row in rows if attachment_id in (None, row.id)), None)
    if found is None and attachment_id is not None:
        raise BadRequest(f"attachment_id {attachment_id} is refused: the volume has no such attachment.")
    return found


def initialize_connection(req: Request, volume: Volume) -> dict[str, Any]:
    """os-initialize_connection: the volume is exported to a host, and the answer says how it is reached."""
    asked: Connect = req.body
    connection = connections.connect(req, volume, asked.connector).connection
    multipath = enforces_multipath(asked.connector)
    return {"connection_info": {**(connection or {}), "enforce_multipath": multipath}}


def terminate_connection(req: Request, volume: Volume) -> None:
    """os-terminate_connection: the export to a host ends; without a connector all of the volume's do."""
    asked: Disconnect = req.body
    refuse_if_used(req, volume.id, None)
    connections.disconnect(req, volume, asked.connector)
    unreserve(req, volume)


def force_detach(req: Request, volume: Volume) -> None:
    """os-force_detach: end the export to a host, then the attachment."""
    asked: ForceDetach = req.body
    attachment = _meant(req, volume, asked.attachment_id)
    host = attachment and attachment.attached_host
    connections.disconnect(req, volume, asked.connector or ({"host": host} if host else None))
    _end(req, volume, attachment)
