"""Resource locks: what keeps a share or an access rule from being deleted, or a rule from being read."""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy import Index, String
from sqlalchemy.orm import Mapped, mapped_column

from pumice.kernel.db.base import Base, Versioned


class ResourceLock(Versioned, Base):
    """`project_id` and `user_id` are those of who locked; `lock_context` is user, admin or service.

    `rule_id` names the access rule that is locked, or for which a lock is on the rule's share: such a lock goes when
    the rule goes.
    """

    __tablename__ = "share_resource_locks"
    __table_args__ = (Index(None, "resource_id", "resource_action"),)
    __label__: ClassVar[str] = "Resource lock"

    resource_type: Mapped[str] = mapped_column(String(16))
    resource_id: Mapped[str] = mapped_column(String(36))
    resource_action: Mapped[str] = mapped_column(String(16), default="delete")
    lock_context: Mapped[str] = mapped_column(String(16))
    lock_reason: Mapped[str | None] = mapped_column(String(1023))
    rule_id: Mapped[str | None] = mapped_column(String(36), index=True)
