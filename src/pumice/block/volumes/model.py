"""The table of volumes."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import String
from sqlalchemy.orm import Mapped, column_property, mapped_column, relationship

from pumice.block.attachments.model import Attachment
from pumice.block.types.model import VolumeType
from pumice.kernel.db.base import Base, Listed, Placed
from pumice.kernel.db.scope import everything


class Volume(Placed, Listed, Base):
    """`size` is in GiB, and `growing_gb` what an extend under way will add to it.

    `meta`, `admin_meta` and `image_meta` hold the user's metadata, the admin-held keys (readonly, attached_mode) and
    the image's properties. `attach_status` and, between reserve and detach, `status` follow from the rows of
    attachments (`block.attachments.derive`).
    """

    __tablename__ = "volumes"
    __label__: ClassVar[str] = "Volume"

    size: Mapped[int]
    growing_gb: Mapped[int] = mapped_column(default=0)
    description: Mapped[str | None]
    volume_type_id: Mapped[str | None] = mapped_column(String(36), index=True)
    snapshot_id: Mapped[str | None] = mapped_column(String(36))
    source_volid: Mapped[str | None] = mapped_column(String(36))
    attach_status: Mapped[str] = mapped_column(String(32), default="detached")
    migration_status: Mapped[str | None] = mapped_column(String(64))
    replication_status: Mapped[str] = mapped_column(String(32), default="disabled")
    bootable: Mapped[bool] = mapped_column(default=False)
    multiattach: Mapped[bool] = mapped_column(default=False)
    consumes_quota: Mapped[bool] = mapped_column(default=True)
    shared_targets: Mapped[bool | None] = mapped_column(default=False)
    provider_id: Mapped[str | None]
    encryption_key_id: Mapped[str | None] = mapped_column(String(36))
    group_id: Mapped[str | None] = mapped_column(String(36))
    consistencygroup_id: Mapped[str | None] = mapped_column(String(36))
    meta: Mapped[dict[str, str]] = mapped_column("metadata", default=dict)
    admin_meta: Mapped[dict[str, str]] = mapped_column(default=dict)
    image_meta: Mapped[dict[str, Any] | None]

    attachments: Mapped[list[Attachment]] = relationship(viewonly=True, lazy="raise")
    type_name: Mapped[str | None] = column_property(
        everything().columns(VolumeType, VolumeType.name).where(VolumeType.id == volume_type_id).scalar_subquery()
    )
