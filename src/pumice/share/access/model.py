"""Access rules: who may mount a share, or a snapshot."""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy import ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from pumice.kernel.db.base import Base, Owned


class AccessRule(Owned, Base):
    """A wanted rule of a share. The rows are what is wanted; an operation brings the backend to them as one set.

    `state` is queued_to_apply, applying, active, error, queued_to_deny, denying, queued_to_update or updating;
    `error` is what the backend said of this very rule.
    """

    __tablename__ = "share_access_rules"
    __table_args__ = (UniqueConstraint("share_id", "access_type", "access_to"),)
    __label__: ClassVar[str] = "Access rule"

    share_id: Mapped[str] = mapped_column(String(36), ForeignKey("shares.id"), index=True)
    access_type: Mapped[str] = mapped_column(String(16))
    access_to: Mapped[str] = mapped_column(String(255))
    access_level: Mapped[str] = mapped_column(String(2), default="rw")
    access_key: Mapped[str | None]
    state: Mapped[str] = mapped_column(String(32), default="queued_to_apply", index=True)
    meta: Mapped[dict[str, str]] = mapped_column("metadata", default=dict)


class SnapshotAccessRule(Owned, Base):
    """A rule of a mountable snapshot; always read only."""

    __tablename__ = "share_snapshot_access_rules"
    __table_args__ = (UniqueConstraint("snapshot_id", "access_type", "access_to"),)
    __label__: ClassVar[str] = "Snapshot access rule"

    snapshot_id: Mapped[str] = mapped_column(String(36), ForeignKey("share_snapshots.id"), index=True)
    access_type: Mapped[str] = mapped_column(String(16))
    access_to: Mapped[str] = mapped_column(String(255))
    state: Mapped[str] = mapped_column(String(32), default="queued_to_apply", index=True)
