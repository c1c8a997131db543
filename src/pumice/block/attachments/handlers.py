"""The attachments API (section 9 of the API)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, exists, or_
from sqlalchemy.orm import Session, aliased

from pumice.block.attachments.connecting import await_connect, begin_connect
from pumice.block.attachments.derive import derive
from pumice.block.attachments.detaching import detach
from pumice.block.attachments.model import Attachment
from pumice.block.attachments.shapes import AttachmentDetail, AttachmentSummary, NewAttachment
from pumice.block.attachments.usage import refuse_if_used
from pumice.block.volumes import rules
from pumice.block.volumes.model import Volume
from pumice.kernel import moves
from pumice.kernel.db.base import new_id, utcnow
from pumice.kernel.db.filters import text
from pumice.kernel.db.paging import Filter, Listing
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import Conflict
from pumice.kernel.moves import Guard

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

ATTACHMENTS: Listing[Attachment] = Listing(
    Attachment,
    "attachment",
    configured=("volume_id", "status", "instance_id", "attach_status"),
    filters=(
        Filter("instance_id", Attachment.instance_uuid, text),
        Filter("attach_status", Attachment.status, text),
    ),
    sort={
        "id": Attachment.id,
        "volume_id": Attachment.volume_id,
        "status": Attachment.status,
        "attach_status": Attachment.status,
        "instance_id": Attachment.instance_uuid,
        "instance_uuid": Attachment.instance_uuid,
        "attached_host": Attachment.attached_host,
        "attach_mode": Attachment.attach_mode,
        "created_at": Attachment.created_at,
        "updated_at": Attachment.updated_at,
    },
    secret=frozenset({"connection", "connector"}),
)


def index(req: Request) -> dict[str, Any]:
    with req.service.db.read() as tx:
        page = ATTACHMENTS.page(tx, req)
    return req.page("attachments", AttachmentSummary, page)


def detail(req: Request) -> dict[str, Any]:
    with req.service.db.read() as tx:
        page = ATTACHMENTS.page(tx, req)
    return req.page("attachments", AttachmentDetail, page)


def show(req: Request, attachment: Attachment) -> dict[str, Any]:
    return {"attachment": req.view(AttachmentDetail, attachment)}


def create(req: Request) -> Any:
    """Reserve a volume for a server or host, and connect it where the connector is known already."""
    asked: NewAttachment = req.body.attachment
    attachment_id, operation_id = new_id(), new_id()

    def work(tx: Session) -> Attachment:
        req.scope.get(tx, Volume, asked.volume_uuid)
        volume = moves.touch(tx, Volume, asked.volume_uuid, guards=[_attachable(asked.instance_uuid), rules.PLACED])
        if volume.status == "in-use" and volume.multiattach and volume.bootable:
            owner = {"project_id": volume.project_id, "user_id": volume.user_id}
            req.authorize("volume:multiattach_bootable_volume", owner)
        attachment = Attachment(
            id=attachment_id,
            project_id=volume.project_id,
            user_id=req.context.user_id,
            volume_id=volume.id,
            instance_uuid=asked.instance_uuid,
            status="reserved",
            attach_mode="ro" if "readonly" in volume.admin_meta else asked.mode,
        )
        tx.add(attachment)
        tx.flush()
        if asked.connector:
            begin_connect(tx, req, volume, attachment, connector=asked.connector, operation_id=operation_id)
        else:
            derive(tx, volume.id)
        return attachment

    def shown(attachment: Attachment) -> dict[str, Any]:
        return {"attachment": req.view(AttachmentDetail, attachment)}

    reserved = req.once(work, shown)
    return shown(await_connect(req, attachment_id, operation_id)) if asked.connector else reserved


def _attachable(instance_uuid: str | None) -> Guard:
    """Free volumes; shared ones in use; and, for a server that has the volume already (and moves), any in use."""
    same_server = exists().where(
        Attachment.volume_id == Volume.id,
        Attachment.instance_uuid == instance_uuid,
        Attachment.instance_uuid.is_not(None),
    )
    return Guard(
        or_(
            Volume.status.in_(("available", "downloading")),
            and_(Volume.status == "in-use", Volume.multiattach),
            and_(Volume.status.in_(("in-use", "reserved")), same_server),
        ),
        "The volume's status does not allow an attachment: it must be available or downloading; in-use is enough "
        "for a multiattach volume, and in-use or reserved for a server that the volume is attached to already.",
    )


def update(req: Request, attachment: Attachment) -> dict[str, Any]:
    """Connect: the backend exports the volume for the connector, and the answer says how it is reached."""
    connector: dict[str, Any] = req.body.attachment.connector
    operation_id = new_id()

    def work(tx: Session) -> None:
        guards = [_connectable(attachment.id, connector["host"])]
        volume = moves.touch(tx, Volume, attachment.volume_id, guards=[_NOT_IN_ERROR, *guards])
        row = moves.lock(tx, Attachment, attachment.id)
        begin_connect(tx, req, volume, row, connector=connector, operation_id=operation_id)

    req.service.db.write(work)
    return {"attachment": req.view(AttachmentDetail, await_connect(req, attachment.id, operation_id))}


_NOT_IN_ERROR = Guard(~Volume.status.contains("error"), "The volume is in an error status.", Conflict)


def _connectable(id: str, host: str) -> Guard:
    """A volume that is not shared is connected once a host: twice only while its server moves to another one."""
    other = aliased(Attachment)
    connected = exists().where(
        other.volume_id == Volume.id,
        other.id != id,
        other.connection.is_not(None),
        other.attached_host == host,
    )
    return Guard(
        or_(Volume.multiattach, ~connected),
        f"Another attachment of the volume is connected to host {host}, and the volume is not multiattach.",
        Conflict,
    )


def complete(req: Request, attachment: Attachment) -> None:
    """os-complete: the host uses the volume from now on."""
    free = Guard(
        and_(Attachment.operation_id.is_(None), Attachment.ending.is_(False)),
        "The attachment is being connected or detached by another request.",
        Conflict,
    )

    def work(tx: Session) -> None:
        moves.lock(tx, Volume, attachment.volume_id)
        moves.touch(tx, Attachment, attachment.id, guards=[free], status="attached", attached_at=utcnow())
        derive(tx, attachment.volume_id)

    req.service.db.write(work)


def delete(req: Request, attachment: Attachment) -> dict[str, Any]:
    """End the attachment; the answer holds those that are left."""
    refuse_if_used(req, attachment.volume_id, attachment.id)
    detach(req, attachment)
    left = everything().select(Attachment).where(Attachment.volume_id == attachment.volume_id)
    with req.service.db.read() as tx:
        rows = tx.scalars(left.order_by(Attachment.created_at, Attachment.id)).all()
    return {"attachments": req.views(AttachmentSummary, rows)}
