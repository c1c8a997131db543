"""Types of resources (volume types, share types): what both services' types have in common."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import ColumnElement, String, or_, select
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from pumice.kernel.db.base import Identified


class AccessRow:
    """That a project may see and use a private type."""

    type_id: Mapped[str] = mapped_column(String(36), primary_key=True)
    project_id: Mapped[str] = mapped_column(String(255), primary_key=True, index=True)


class TypeRow(Identified):
    """Columns of a type. `extra_specs` are read and written whole."""

    __label__: ClassVar[str]
    __access__: ClassVar[type[AccessRow]]

    description: Mapped[str | None]
    is_public: Mapped[bool] = mapped_column(default=True)
    extra_specs: Mapped[dict[str, Any]] = mapped_column(default=dict)

    @declared_attr
    @classmethod
    def name(cls) -> Mapped[str]:
        return mapped_column(String(255), unique=True)

    @classmethod
    def visible_to(cls, project_id: str) -> ColumnElement[bool]:
        shared = select(cls.__access__.type_id).where(cls.__access__.project_id == project_id)
        return or_(cls.is_public, cls.id.in_(shared))
