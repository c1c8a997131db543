"""Snapshots of shares and their instances."""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from pumice.kernel.db.base import Base, Listed, Moving, Owned, Versioned
from pumice.share.projection import DEFERRED

SEE_DEFERRED = "share_snapshot:list_snapshots_in_deferred_deletion_states"


class ShareSnapshot(Versioned, Listed, Base):
    """`size` in GiB is the share's when the snapshot was taken.

    `status` and `provider_location` are projections of its instance's (`share.snapshots.moving`).
    """

    __tablename__ = "share_snapshots"
    __label__: ClassVar[str] = "Snapshot"
    __hidden__: ClassVar[tuple[tuple[str, ...], str]] = (DEFERRED, SEE_DEFERRED)

    status: Mapped[str] = mapped_column(String(64), index=True)
    share_id: Mapped[str] = mapped_column(String(36), ForeignKey("shares.id"), index=True)
    share_type_id: Mapped[str | None] = mapped_column(String(36))
    size: Mapped[int]
    proto: Mapped[str] = mapped_column(String(16))
    description: Mapped[str | None]
    provider_location: Mapped[str | None]
    meta: Mapped[dict[str, str]] = mapped_column("metadata", default=dict)


class SnapshotInstance(Moving, Base):
    """The snapshot of one share instance: the row that moves. For `access_*` see `ShareInstance`."""

    __tablename__ = "share_snapshot_instances"
    __label__: ClassVar[str] = "Snapshot instance"

    snapshot_id: Mapped[str] = mapped_column(String(36), ForeignKey("share_snapshots.id"), index=True)
    share_id: Mapped[str] = mapped_column(String(36), index=True)
    share_instance_id: Mapped[str] = mapped_column(String(36), ForeignKey("share_instances.id"), index=True)
    provider_location: Mapped[str | None]
    progress: Mapped[str | None] = mapped_column(String(8))
    access_wanted: Mapped[int] = mapped_column(default=0)
    access_applied: Mapped[int] = mapped_column(default=0)


class SnapshotExportLocation(Owned, Base):
    """One path by which clients mount a snapshot."""

    __tablename__ = "share_snapshot_export_locations"
    __label__: ClassVar[str] = "Snapshot export location"

    snapshot_id: Mapped[str] = mapped_column(String(36), ForeignKey("share_snapshots.id"), index=True)
    snapshot_instance_id: Mapped[str] = mapped_column(String(36), ForeignKey("share_snapshot_instances.id"), index=True)
    path: Mapped[str] = mapped_column(String(2000))
    is_admin_only: Mapped[bool] = mapped_column(default=False)
