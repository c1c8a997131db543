"""The table of volume snapshots."""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from pumice.kernel.db.base import Base, Listed, Moving


class Snapshot(Moving, Listed, Base):
    """`size` in GiB is the volume's when the snapshot was taken.

    `volume_type_id` is the volume's, and `charged_gb` what the snapshot counts in gigabytes quotas.
    """

    __tablename__ = "snapshots"
    __label__: ClassVar[str] = "Snapshot"

    volume_id: Mapped[str] = mapped_column(String(36), ForeignKey("volumes.id"), index=True)
    size: Mapped[int]
    charged_gb: Mapped[int]
    description: Mapped[str | None]
    volume_type_id: Mapped[str | None] = mapped_column(String(36))
    progress: Mapped[str | None] = mapped_column(String(8))
    group_snapshot_id: Mapped[str | None] = mapped_column(String(36))
    consumes_quota: Mapped[bool] = mapped_column(default=True)
    meta: Mapped[dict[str, str]] = mapped_column("metadata", default=dict)
