"""Payloads of notifications about volumes (section 24 of the API)."""

from __future__ import annotations

import datetime
from typing import Any

from sqlalchemy.orm import Session

from pumice.block.attachments.model import Attachment
from pumice.block.volumes.model import Volume
from pumice.kernel.db.scope import everything


def describe(tx: Session, volume: Volume) -> dict[str, Any]:
    attachments = tx.scalars(everything().select(Attachment).where(Attachment.volume_id == volume.id))
    payload: dict[str, Any] = {
        "volume_id": volume.id,
        "user_id": volume.user_id,
        "tenant_id": volume.project_id,
        "availability_zone": volume.availability_zone,
        "host": volume.host,
        "size": volume.size,
        "status": volume.status,
        "volume_type": volume.volume_type_id,
        "display_name": volume.name,
        "snapshot_id": volume.snapshot_id,
        "created_at": stamp(volume.created_at),
        "launched_at": stamp(volume.launched_at),
        "deleted_at": stamp(None),
        "metadata": volume.meta,
        "replication_status": volume.replication_status,
        "replication_extended_status": None,
        "replication_driver_data": None,
        "volume_attachment": [
            {"id": one.id, "instance_uuid": one.instance_uuid, "attach_status": one.status} for one in attachments
        ],
    }
    if volume.image_meta:
        payload["glance_metadata"] = volume.image_meta
    return payload


def stamp(time: datetime.datetime | None) -> str:
    """A time as notifications write it; empty when there is none."""
    return time.isoformat() if time else ""
