"""Attachments, and the connections that were made without one."""

from __future__ import annotations

import datetime
from typing import Any, ClassVar

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from pumice.kernel.db.base import Base, Moving, Owned


class Exported:
    """An export that a row asks for.

    `connection` is what the driver answered ({"driver_volume_type", "data"}), secrets included; with `connector`
    it is all that is needed to make the export again. `ending` is set before the export is removed, so that
    nobody makes it again meanwhile.
    """

    connector: Mapped[dict[str, Any] | None]
    connection: Mapped[dict[str, Any] | None]
    ending: Mapped[bool] = mapped_column(default=False)


class Attachment(Moving, Exported, Base):
    """One use of a volume. `status` is the attach status of section 9 of the API: reserved, attaching, attached, …"""

    __tablename__ = "volume_attachments"
    __label__: ClassVar[str] = "Attachment"

    volume_id: Mapped[str] = mapped_column(String(36), ForeignKey("volumes.id"), index=True)
    instance_uuid: Mapped[str | None] = mapped_column(String(36), index=True)
    attached_host: Mapped[str | None]
    mountpoint: Mapped[str | None]
    attach_mode: Mapped[str | None] = mapped_column(String(8))
    attached_at: Mapped[datetime.datetime | None]
    detached_at: Mapped[datetime.datetime | None]


class Connection(Owned, Exported, Base):
    """An export made by os-initialize_connection, which knows a connector but no attachment."""

    __tablename__ = "volume_connections"
    __label__: ClassVar[str] = "Connection"

    volume_id: Mapped[str] = mapped_column(String(36), ForeignKey("volumes.id"), index=True)
