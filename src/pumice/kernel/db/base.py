"""The declarative base and the columns that tables share.

Times are naive UTC. Ids are UUID text made by the caller before the transaction, so that a transaction can be
run again. JSON columns hold small maps (metadata, extra specs) that are read and written whole under the row's
`version`.
"""

from __future__ import annotations

import datetime
import uuid
from typing import Any, ClassVar

from sqlalchemy import JSON, ColumnElement, DateTime, Index, MetaData, String
from sqlalchemy.dialects import mysql
from sqlalchemy.orm import DeclarativeBase, Mapped, declared_attr, mapped_column


def utcnow() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


def new_id() -> str:
    return str(uuid.uuid4())


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy's own protocol
        # None is NULL, which queries can ask for, and not the JSON text `null`.
        dict[str, Any]: JSON(none_as_null=True),
        dict[str, str]: JSON(none_as_null=True),
        list[str]: JSON(none_as_null=True),
        str: String(255),
        # Lists are ordered by times: whole seconds, MySQL's default, would not do.
        datetime.datetime: DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb"),
    }


class Identified:
    """A row with an id and the two times that every API object shows."""

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    created_at: Mapped[datetime.datetime] = mapped_column(default=utcnow, index=True)
    updated_at: Mapped[datetime.datetime | None] = mapped_column(onupdate=utcnow)


class Owned(Identified):
    """A row that belongs to a project; queries on it need a scope (`kernel.db.scope`).

    `__hidden__` are statuses in which callers see it only where the policy rule beside them lets them.
    """

    __label__: ClassVar[str]
    __hidden__: ClassVar[tuple[tuple[str, ...], str]] = ((), "")

    project_id: Mapped[str] = mapped_column(String(255), index=True)
    user_id: Mapped[str | None] = mapped_column(String(255))

    @classmethod
    def visible_to(cls, project_id: str) -> ColumnElement[bool]:
        return cls.project_id == project_id


class Versioned(Owned):
    """A row whose `version` grows with every change, so that whoever adds or removes a child collides on it."""

    version: Mapped[int] = mapped_column(default=0)


class Listed(Owned):
    """A named row with a status, of which a project may have very many: indexes for the filters that people use."""

    # The indexes below begin with it; one of its own MariaDB would rather intersect with the one of statuses.
    project_id: Mapped[str] = mapped_column(String(255))
    name: Mapped[str | None]

    @declared_attr.directive
    @classmethod
    def __table_args__(cls) -> tuple[Index, ...]:
        # In the order of a list, so that a page of it need not sort all that the filter leaves.
        order = ("created_at", "id")
        return (
            Index(None, "project_id", "name"),
            Index(None, "project_id", "status", *order),
            Index(None, "project_id", *order),
        )


class Moving(Versioned):
    """A resource with statuses that moves change (`kernel.moves`).

    `operation_id` names the operation that owns the row while it moves.
    """

    status: Mapped[str] = mapped_column(String(64), index=True)
    previous_status: Mapped[str | None] = mapped_column(String(64))
    operation_id: Mapped[str | None] = mapped_column(String(36), index=True)


class Placed(Moving):
    """A resource that lies on a pool. `host` is "host@backend#pool" once placed, `launched_at` the time when its
    storage was there first."""

    host: Mapped[str | None] = mapped_column(index=True)
    cluster_name: Mapped[str | None]
    availability_zone: Mapped[str | None]
    launched_at: Mapped[datetime.datetime | None]

    @property
    def pool(self) -> str:
        """The pool's part of `host`."""
        return (self.host or "").partition("#")[2]

    @property
    def backend(self) -> str:
        """`host@backend`, which the queue of its worker is named after."""
        return (self.host or "").partition("#")[0]
