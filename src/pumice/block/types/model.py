"""Tables of volume types."""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from pumice.kernel.db.base import Base
from pumice.kernel.types import AccessRow, TypeRow


class VolumeTypeAccess(AccessRow, Base):
    __tablename__ = "volume_type_access"


class VolumeType(TypeRow, Base):
    __tablename__ = "volume_types"
    __label__: ClassVar[str] = "Volume type"
    __access__: ClassVar[type[AccessRow]] = VolumeTypeAccess


class DefaultType(Base):
    """The type that volumes of a project get when none is asked for (3.62)."""

    __tablename__ = "default_volume_types"

    project_id: Mapped[str] = mapped_column(String(255), primary_key=True)
    volume_type_id: Mapped[str] = mapped_column(String(36))
