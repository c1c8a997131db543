"""Whose rows a query may see: the one place where projects are kept apart.

Every select of a resource starts from a `Scope`. A class says in `visible_to` which of its rows a project sees
(`Owned`: its own; types: public ones and those shared with it); `everything()` is for admins and workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Protocol, TypeVar

from sqlalchemy import ColumnElement, Select, bindparam, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from pumice.kernel.errors import NotFound


class Scoped(Protocol):
    """A mapped class whose rows belong to somebody."""

    __label__: ClassVar[str]

    @classmethod
    def visible_to(cls, project_id: str) -> ColumnElement[bool]: ...


M = TypeVar("M", bound=Scoped)
S = TypeVar("S", bound=Select[Any])


@dataclass(frozen=True, slots=True)
class Scope:
    """Made by `own` and `everything` only."""

    project_id: str | None

    def select(self, model: type[M]) -> Select[M]:
        """A SELECT of the rows of `model` that this scope sees."""
        return self.limit(select(model), model)

    def columns(self, model: type[M], *columns: Any) -> Select[Any]:
        """A SELECT of some columns or aggregates over the rows of `model` that this scope sees."""
        return self.limit(select(*columns).select_from(model), model)

    def limit(self, statement: S, model: type[M]) -> S:
        """`statement`, which selects from `model`, narrowed to what this scope sees."""
        return statement if self.project_id is None else statement.where(model.visible_to(self.project_id))

    def find(self, tx: Session, model: type[M], id: str) -> M | None:
        statement = _by_id(model, limited=self.project_id is not None)
        return tx.scalars(statement, {"the_id": id, "the_project": self.project_id}).one_or_none()

    def get(self, tx: Session, model: type[M], id: str) -> M:
        """:raises NotFound: there is no such row, or it is not this scope's to see"""
        row = self.find(tx, model, id)
        if row is None:
            raise NotFound(f"{model.__label__} {id} could not be found.")
        return row


@cache
def _by_id(model: type[M], *, limited: bool) -> Select[M]:
    key: InstrumentedAttribute[str] = model.id  # type: ignore[attr-defined]
    project: Any = bindparam("the_project")
    statement = select(model).where(key == bindparam("the_id"))
    return statement.where(model.visible_to(project)) if limited else statement


def own(project_id: str) -> Scope:
    return Scope(project_id)


def everything() -> Scope:
    return Scope(None)
