"""What the steps of schemas are written with.

A step that has been released makes for ever what it made then: what stands here is added to, never changed, and
knows nothing of the models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

Columns = Sequence[sa.Column[Any]]

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
DOCUMENT = sa.JSON(none_as_null=True)
COUNT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def column(name: str, kind: Any, *, null: bool = False, index: bool = False, **more: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=null, index=index, **more)


def text(name: str, length: int = 255, *, null: bool = False, index: bool = False) -> sa.Column[Any]:
    return column(name, sa.String(length), null=null, index=index)


def key(name: str, *, null: bool = False, index: bool = False) -> sa.Column[Any]:
    """The id of a row, of this table or of another."""
    return text(name, 36, null=null, index=index)


def number(name: str, *, null: bool = False) -> sa.Column[Any]:
    return column(name, sa.Integer(), null=null)


def real(name: str, *, null: bool = False) -> sa.Column[Any]:
    return column(name, sa.Double(), null=null)


def flag(name: str, *, null: bool = False, index: bool = False) -> sa.Column[Any]:
    return column(name, sa.Boolean(), null=null, index=index)


def time(name: str, *, null: bool = False, index: bool = False) -> sa.Column[Any]:
    return column(name, TIME, null=null, index=index)


def document(name: str, *, null: bool = False) -> sa.Column[Any]:
    """A small JSON value."""
    return column(name, DOCUMENT, null=null)


def identified() -> Columns:
    return key("id"), time("created_at", index=True), time("updated_at", null=True)


def owned(*, listed: bool = False) -> Columns:
    """:param listed: the table is given the indexes of `listed`"""
    return text("project_id", index=not listed), text("user_id", null=True), *identified()


def moving(*, listed: bool = False) -> Columns:
    return (
        text("status", 64, index=True),
        text("previous_status", 64, null=True),
        key("operation_id", null=True, index=True),
        number("version"),
        *owned(listed=listed),
    )


def create(
    table: str,
    *columns: sa.Column[Any],
    primary: Sequence[str] = ("id",),
    unique: Sequence[str] = (),
    references: Mapping[str, str] | None = None,
    follows: Sequence[str] = (),
) -> None:
    """Create a table with its indexes.

    :param unique: the columns that are unique together
    :param references: column → the table whose `id` it holds
    :param follows: of these columns, those whose rows go when the other does
    """
    # `op.f`: names that are too long for a database are cut off as those of the models are.
    constraints: list[sa.Constraint] = [sa.PrimaryKeyConstraint(*primary, name=op.f(f"pk_{table}"))]
    for name, other in (references or {}).items():
        rule = "CASCADE" if name in follows else None
        target = [f"{other}.id"]
        constraints.append(sa.ForeignKeyConstraint([name], target, name=op.f(f"fk_{table}_{name}"), ondelete=rule))
    if unique:
        constraints.append(sa.UniqueConstraint(*unique, name=op.f(f"uq_{table}_{'_'.join(unique)}")))
    op.create_table(table, *columns, *constraints)


def indexed(table: str, *columns: str) -> None:
    """An index over several columns."""
    op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, columns)


def listed(table: str) -> None:
    """Indexes for the filters of long lists."""
    indexed(table, "project_id", "name")
    indexed(table, "project_id", "status", "created_at", "id")
    indexed(table, "project_id", "created_at", "id")
