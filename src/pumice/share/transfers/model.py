"""Offers of shares to other projects."""

from __future__ import annotations

import datetime
from typing import ClassVar

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from pumice.kernel.db.base import Base, Owned


class ShareTransfer(Owned, Base):
    """An offer that stands: `project_id` is the share's. Gone once accepted, withdrawn or expired.

    Of its key only the salted hash is kept.
    """

    __tablename__ = "share_transfers"
    __label__: ClassVar[str] = "Transfer"

    share_id: Mapped[str] = mapped_column(String(36), ForeignKey("shares.id", ondelete="CASCADE"), unique=True)
    name: Mapped[str | None]
    salt: Mapped[str] = mapped_column(String(255))
    key_hash: Mapped[str] = mapped_column(String(64))
    expires_at: Mapped[datetime.datetime] = mapped_column(index=True)
