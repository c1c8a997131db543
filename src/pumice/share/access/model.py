"""Access rules: who may mount a share, or a snapshot.

The rows are what is wanted; an operation brings the backend to them as one set (`share.access.rules`). `state` is
queued_to_apply, applying, active, error, queued_to_deny, denying, queued_to_update or updating. A rule that is
`denied` is wanted no more: it is kept from the backend from then on, and its row goes once the backend has agreed.
"""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy import ColumnElement, ForeignKey, String, UniqueConstraint, and_, exists
from sqlalchemy.orm import Mapped, foreign, mapped_column, relationship

from pumice.kernel.db.base import Base, Versioned
from pumice.share.locks.model import ResourceLock
from pumice.share.projection import DEFERRED
from pumice.share.shares.model import Share, ShareInstance


class AccessRule(Versioned, Base):
    """A rule of a share; `project_id` is the share's. `access_key` is a secret that the backend made for the rule."""

    __tablename__ = "share_access_rules"
    __table_args__ = (UniqueConstraint("share_id", "access_type", "access_to"),)
    __label__: ClassVar[str] = "Access rule"

    share_id: Mapped[str] = mapped_column(String(36), ForeignKey("shares.id"), index=True)
    access_type: Mapped[str] = mapped_column(String(16))
    access_to: Mapped[str] = mapped_column(String(255))
    access_level: Mapped[str] = mapped_column(String(2), default="rw")
    access_key: Mapped[str | None]
    state: Mapped[str] = mapped_column(String(32), default="queued_to_apply", index=True)
    denied: Mapped[bool] = mapped_column(default=False)
    meta: Mapped[dict[str, str]] = mapped_column("metadata", default=dict)

    show_lock: Mapped[ResourceLock | None] = relationship(
        primaryjoin=lambda: and_(
            AccessRule.id == foreign(ResourceLock.resource_id), ResourceLock.resource_action == "show"
        ),
        uselist=False,
        viewonly=True,
        lazy="raise",
    )
    instance: Mapped[ShareInstance] = relationship(
        primaryjoin=lambda: foreign(AccessRule.share_id) == ShareInstance.share_id, viewonly=True, lazy="raise"
    )

    @classmethod
    def visible_to(cls, project_id: str) -> ColumnElement[bool]:
        """A project sees the rules of its own shares, but for those that are deleted in its eyes."""
        deleted = exists().where(Share.id == cls.share_id, Share.status.in_(DEFERRED))
        return and_(cls.project_id == project_id, ~deleted)


class SnapshotAccessRule(Versioned, Base):
    """A rule of a mountable snapshot; always read only."""

    __tablename__ = "share_snapshot_access_rules"
    __table_args__ = (UniqueConstraint("snapshot_id", "access_type", "access_to"),)
    __label__: ClassVar[str] = "Snapshot access rule"

    snapshot_id: Mapped[str] = mapped_column(String(36), ForeignKey("share_snapshots.id"), index=True)
    access_type: Mapped[str] = mapped_column(String(16))
    access_to: Mapped[str] = mapped_column(String(255))
    state: Mapped[str] = mapped_column(String(32), default="queued_to_apply", index=True)
    denied: Mapped[bool] = mapped_column(default=False)
