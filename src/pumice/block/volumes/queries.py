"""Reading volumes: lists, and what an answer needs besides a volume's own row."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from pumice.block.attachments.model import Attachment
from pumice.block.volumes.model import Volume
from pumice.kernel.db.filters import flag, pairs, times, whole_number
from pumice.kernel.db.paging import Filter, Listing
from pumice.kernel.db.records import children, hang

VOLUMES: Listing[Volume] = Listing(
    Volume,
    "volume",
    configured=(
        "name",
        "status",
        "metadata",
        "bootable",
        "migration_status",
        "availability_zone",
        "group_id",
        "size",
        "created_at",
        "updated_at",
        "consumes_quota",
    ),
    filters=(
        Filter("metadata", Volume.meta, pairs),
        Filter("glance_metadata", Volume.image_meta, pairs, since="3.4"),
        Filter("bootable", Volume.bootable, flag("3.2")),
        Filter("size", Volume.size, whole_number),
        Filter("group_id", Volume.group_id, since="3.10"),
        Filter("created_at", Volume.created_at, times, since="3.60"),
        Filter("updated_at", Volume.updated_at, times, since="3.60"),
        Filter("consumes_quota", Volume.consumes_quota, flag(), since="3.65"),
    ),
    sort={
        "id": Volume.id,
        "status": Volume.status,
        "size": Volume.size,
        "availability_zone": Volume.availability_zone,
        "name": Volume.name,
        "display_name": Volume.name,
        "bootable": Volume.bootable,
        "created_at": Volume.created_at,
        "updated_at": Volume.updated_at,
        "volume_type_id": Volume.volume_type_id,
        "host": Volume.host,
    },
    count_from="3.45",
)


def dress(tx: Session, volumes: Sequence[Volume]) -> Sequence[Volume]:
    """Give volumes their attachments, which answers show; one query, or none where nothing is attached."""
    used = [volume.id for volume in volumes if volume.attach_status != "detached"]
    hang(volumes, "attachments", children(tx, Attachment.volume_id, used), otherwise=())
    return volumes
