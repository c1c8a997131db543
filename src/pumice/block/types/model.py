"""Tables of volume types."""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy import ColumnElement, String
from sqlalchemy.orm import Mapped, mapped_column

from pumice.kernel.db.base import Base
from pumice.kernel.types import AccessRow, TypeRow


class VolumeTypeAccess(AccessRow, Base):
    __tablename__ = "volume_type_access"
    __label__: ClassVar[str] = "Access to a volume type"

    @classmethod
    def visible_to(cls, project_id: str) -> ColumnElement[bool]:
        return cls.project_id == project_id


class VolumeType(TypeRow, Base):
    __tablename__ = "volume_types"
    __label__: ClassVar[str] = "Volume type"
    __access__: ClassVar[type[AccessRow]] = VolumeTypeAccess


class DefaultType(Base):
    """The type that volumes of a project get when none is asked for (3.62)."""

    __tablename__ = "default_volume_types"
    __label__: ClassVar[str] = "Default volume type"

    project_id: Mapped[str] = mapped_column(String(255), primary_key=True)
    volume_type_id: Mapped[str] = mapped_column(String(36))

    @classmethod
    def visible_to(cls, project_id: str) -> ColumnElement[bool]:
        return cls.project_id == project_id
