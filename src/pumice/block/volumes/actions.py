"""Actions of volumes that are about the volume itself: extend, revert, statuses, flags, image metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_
from sqlalchemy.orm import Session

from pumice.block.attachments.model import Attachment
from pumice.block.backends import queue_of
from pumice.block.quotas.resources import check_volume_size, growth_charge
from pumice.block.snapshots.model import Snapshot
from pumice.block.types.model import VolumeType
from pumice.block.volumes import operations, rules
from pumice.block.volumes.deletion import delete
from pumice.block.volumes.model import Volume
from pumice.kernel import moves
from pumice.kernel.api.shapes import Shape
from pumice.kernel.api.values import Boolean, ImageMetadata, Size, Uuid, Word
from pumice.kernel.db.base import new_id
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import BadRequest, Conflict, NotFound
from pumice.kernel.moves import Guard
from pumice.kernel.scheduling.placing import SCHEDULER, is_thick
from pumice.kernel.steps import refuse_incapable
from pumice.kernel.types import specs_of

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


class Extend(Shape, strict=True):
    new_size: Size


class ExtendCompletion(Shape, strict=True):
    error: Boolean = False


class Revert(Shape, strict=True):
    snapshot_id: Uuid


class SetBootable(Shape, strict=True):
    bootable: Boolean


class UpdateReadonly(Shape, strict=True):
    readonly: Boolean


class SetImageMetadata(Shape, strict=True):
    metadata: ImageMetadata


class UnsetImageMetadata(Shape, strict=True):
    key: Word


def extend(req: Request, volume: Volume) -> None:
    """os-extend: the growth is charged with the acceptance; room and storage follow."""
    allowed = {"available", "in-use"} if req.version >= "3.42" else {"available"}
    if volume.status == "in-use" and volume.status in allowed:
        req.authorize("volume:extend_attached_volume", {"project_id": volume.project_id, "user_id": volume.user_id})
    new_size, operation_id, service = req.body.new_size, new_id(), req.service

    def work(tx: Session) -> None:
        row = moves.lock(tx, Volume, volume.id)
        if row.status not in allowed:
            words = " or ".join(sorted(allowed))
            raise BadRequest(f"Volume {row.id} has status {row.status}: extend is allowed only in status {words}.")
        if new_size <= row.size:
            raise BadRequest(f"new_size {new_size} is refused: the volume has {row.size} GiB, and it can only grow.")
        specs = specs_of(tx, VolumeType, row.volume_type_id)
        rules.check_size(specs, new_size)
        check_volume_size(tx, service.quotas, row.project_id, new_size)
        growth = new_size - row.size
        instances = _instances(tx, row)
        service.journal.begin(
            tx,
            operations.EXTEND,
            req.context,
            id=operation_id,
            queue=SCHEDULER,
            resource_id=row.id,
            guards=[
                rules.NO_MIGRATION,
                rules.PLACED,
                Guard(Volume.size == row.size, "The volume is being extended by another request."),
            ],
            args={
                "thick": is_thick(specs),
                "instances": instances,
                "completion_timeout": service.conf.extend_completion_timeout,
            },
            growing_gb=growth,
        )
        service.quotas.charge(tx, row.project_id, growth_charge(growth, row.volume_type_id))

    service.db.write(work)
    req.reply_headers["X-Operation-Id"] = operation_id


def _instances(tx: Session, volume: Volume) -> list[str]:
    """The servers that use the volume, which compute is to tell of its new size."""
    used = (Attachment.volume_id == volume.id, Attachment.status == "attached", Attachment.instance_uuid.is_not(None))
    return sorted(
        {one or "" for one in tx.scalars(everything().columns(Attachment, Attachment.instance_uuid).where(*used))}
    )


def complete_extend(req: Request, volume: Volume) -> None:
    """os-extend_volume_completion: compute has done its part of an extend, or could not."""

    def work(tx: Session) -> None:
        row = moves.lock(tx, Volume, volume.id)
        answer = {"error": req.body.error}
        waits = row.operation_id and req.service.journal.signal(tx, row.operation_id, "extend_completion", answer)
        if row.status != "extending" or not waits:
            raise BadRequest(f"Volume {row.id} has status {row.status}: no extend waits for its completion.")

    req.service.db.write(work)


def force_delete(req: Request, volume: Volume) -> None:
    delete(req, volume, cascade=False, force=True)


def revert(req: Request, volume: Volume) -> None:
    """revert: the volume's data becomes that of its newest snapshot."""
    operation_id, snapshot_id = new_id(), req.body.snapshot_id

    def work(tx: Session) -> None:
        row = moves.lock(tx, Volume, volume.id)
        snapshot = _newest_snapshot(tx, row, snapshot_id)
        refuse_incapable(tx, row.host, "reverts", "revert volumes")
        req.service.journal.begin(
            tx,
            operations.REVERT,
            req.context,
            id=operation_id,
            queue=queue_of(row.backend),
            resource_id=row.id,
            guards=[rules.NOT_READ, rules.NO_MIGRATION],
            args={"snapshot_id": snapshot.id},
        )
        usable = Guard(
            and_(Snapshot.status == "available", Snapshot.operation_id.is_(None)),
            f"Snapshot {snapshot.id} has status {snapshot.status}: it must be available.",
            Conflict,
        )
        moves.touch(tx, Snapshot, snapshot.id, guards=[usable], status="restoring", operation_id=operation_id)

    req.service.db.write(work)
    req.reply_headers["X-Operation-Id"] = operation_id


def _newest_snapshot(tx: Session, volume: Volume, id: str) -> Snapshot:
    newest_first = (Snapshot.created_at.desc(), Snapshot.id.desc())
    of_volume = everything().select(Snapshot).where(Snapshot.volume_id == volume.id).order_by(*newest_first)
    newest = tx.scalars(of_volume.limit(1)).one_or_none()
    if newest is None:
        raise BadRequest(f"Volume {volume.id} has no snapshots.")
    if newest.id != id:
        raise BadRequest(f"snapshot_id {id} is refused: a volume is reverted to its newest snapshot, {newest.id}.")
    if newest.size != volume.size:
        raise BadRequest(
            f"Snapshot {id} has {newest.size} GiB and the volume {volume.size}: "
            "a volume that has been extended since cannot be reverted."
        )
    return newest


def set_bootable(req: Request, volume: Volume) -> None:
    req.service.db.write(lambda tx: moves.touch(tx, Volume, volume.id, bootable=req.body.bootable))


def update_readonly(req: Request, volume: Volume) -> None:
    """os-update_readonly_flag: kept as text among the admin-held metadata."""
    available = Guard(Volume.status == "available", "The readonly flag is changed only in status available.")

    def work(tx: Session) -> None:
        row = moves.lock(tx, Volume, volume.id)
        admin_meta = row.admin_meta | {"readonly": str(req.body.readonly)}
        moves.touch(tx, Volume, volume.id, guards=[available], admin_meta=admin_meta)

    req.service.db.write(work)


# Image metadata


def show_image_metadata(_req: Request, volume: Volume) -> dict[str, Any]:
    return {"metadata": volume.image_meta or {}}


def set_image_metadata(req: Request, volume: Volume) -> dict[str, Any]:
    return {"metadata": _change_image_metadata(req, volume, lambda meta: meta | req.body.metadata)}


def unset_image_metadata(req: Request, volume: Volume) -> None:
    def without(meta: dict[str, Any]) -> dict[str, Any]:
        if req.body.key not in meta:
            raise NotFound(f"Image metadata key {req.body.key} could not be found.")
        return {name: value for name, value in meta.items() if name != req.body.key}

    _change_image_metadata(req, volume, without)


def _change_image_metadata(
    req: Request, volume: Volume, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    def work(tx: Session) -> dict[str, Any]:
        meta = change(moves.lock(tx, Volume, volume.id).image_meta or {})
        moves.touch(tx, Volume, volume.id, guards=[rules.METADATA_CHANGEABLE], image_meta=meta or None)
        return meta

    changed: dict[str, Any] = req.service.db.write(work)
    return changed
