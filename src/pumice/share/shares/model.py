"""Shares and their instances."""

from __future__ import annotations

import datetime
from typing import ClassVar

from sqlalchemy import ColumnElement, ForeignKey, String, or_
from sqlalchemy.orm import Mapped, column_property, declared_attr, mapped_column, relationship

from pumice.kernel.db.base import Base, Listed, Placed, Versioned
from pumice.kernel.db.scope import everything
from pumice.share.projection import DEFERRED
from pumice.share.types.model import ShareType

SEE_DEFERRED = "share:list_shares_in_deferred_deletion_states"


class ShareInstance(Placed, Base):
    """The share on one backend: the row that moves.

    `access_rules_status` is active, syncing or error; `access_wanted` grows with every change of the rules, and
    `access_applied` is what it was when the backend was last brought to them.
    """

    __tablename__ = "share_instances"
    __label__: ClassVar[str] = "Share instance"

    share_id: Mapped[str] = mapped_column(String(36), ForeignKey("shares.id"), index=True)
    share_type_id: Mapped[str | None] = mapped_column(String(36))
    access_rules_status: Mapped[str] = mapped_column(String(16), default="active")
    access_wanted: Mapped[int] = mapped_column(default=0)
    access_applied: Mapped[int] = mapped_column(default=0)
    cast_rules_to_readonly: Mapped[bool] = mapped_column(default=False)
    replica_state: Mapped[str | None] = mapped_column(String(32))
    share_network_id: Mapped[str | None] = mapped_column(String(36))
    share_server_id: Mapped[str | None] = mapped_column(String(36))
    progress: Mapped[str | None] = mapped_column(String(8))

    locations: Mapped[list[ExportLocation]] = relationship(viewonly=True, lazy="raise")


class Share(Versioned, Listed, Base):
    """What users know. `size` is in GiB.

    `status`, `progress`, `host` and `availability_zone` are projections of the active instance's
    (`share.projection`). The capabilities (`snapshot_support` …) are those of the type when the share was made.
    """

    __tablename__ = "shares"
    __label__: ClassVar[str] = "Share"
    __hidden__: ClassVar[tuple[tuple[str, ...], str]] = (DEFERRED, SEE_DEFERRED)

    status: Mapped[str] = mapped_column(String(64), index=True)
    size: Mapped[int]
    growing_gb: Mapped[int] = mapped_column(default=0)
    description: Mapped[str | None]
    proto: Mapped[str] = mapped_column(String(16))
    share_type_id: Mapped[str | None] = mapped_column(String(36), index=True)
    snapshot_id: Mapped[str | None] = mapped_column(String(36))
    is_public: Mapped[bool] = mapped_column(default=False)
    host: Mapped[str | None] = mapped_column(index=True)
    availability_zone: Mapped[str | None]
    progress: Mapped[str | None] = mapped_column(String(8))
    task_state: Mapped[str | None] = mapped_column(String(64))
    snapshot_support: Mapped[bool] = mapped_column(default=False)
    create_share_from_snapshot_support: Mapped[bool] = mapped_column(default=False)
    revert_to_snapshot_support: Mapped[bool] = mapped_column(default=False)
    mount_snapshot_support: Mapped[bool] = mapped_column(default=False)
    snapshot_inherit_share_access_support: Mapped[bool] = mapped_column(default=False)
    replication_type: Mapped[str | None] = mapped_column(String(16))
    share_group_id: Mapped[str | None] = mapped_column(String(36))
    source_share_group_snapshot_member_id: Mapped[str | None] = mapped_column(String(36))
    source_backup_id: Mapped[str | None] = mapped_column(String(36))
    mount_point_name: Mapped[str | None]
    encryption_key_ref: Mapped[str | None] = mapped_column(String(36))
    is_soft_deleted: Mapped[bool] = mapped_column(default=False, index=True)
    scheduled_to_be_deleted_at: Mapped[datetime.datetime | None]
    meta: Mapped[dict[str, str]] = mapped_column("metadata", default=dict)

    type_name: Mapped[str | None] = column_property(
        everything().columns(ShareType, ShareType.name).where(ShareType.id == share_type_id).scalar_subquery()
    )
    locations: Mapped[list[ExportLocation]] = relationship(viewonly=True, lazy="raise")

    @declared_attr
    @classmethod
    def access_rules_status(cls) -> Mapped[str]:
        """That of the active instance, the oldest."""
        instances = everything().columns(ShareInstance, ShareInstance.access_rules_status)
        oldest = instances.where(ShareInstance.share_id == cls.id).order_by(ShareInstance.created_at, ShareInstance.id)
        return column_property(oldest.limit(1).scalar_subquery())

    @classmethod
    def visible_to(cls, project_id: str) -> ColumnElement[bool]:
        """A project sees its own shares and the public ones of others; changing needs policy on the owner."""
        return or_(cls.project_id == project_id, cls.is_public)


class ExportLocation(Versioned, Base):
    """One path by which clients mount an instance; `project_id` is the share's."""

    __tablename__ = "share_export_locations"
    __label__: ClassVar[str] = "Export location"

    share_id: Mapped[str] = mapped_column(String(36), ForeignKey("shares.id"), index=True)
    share_instance_id: Mapped[str] = mapped_column(String(36), ForeignKey("share_instances.id"), index=True)
    path: Mapped[str] = mapped_column(String(2000))
    preferred: Mapped[bool] = mapped_column(default=False)
    is_admin_only: Mapped[bool] = mapped_column(default=False)
    meta: Mapped[dict[str, str]] = mapped_column("metadata", default=dict)
