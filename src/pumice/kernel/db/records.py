"""Rows as plain objects, which are only read: what lists of thousands are made of.

SQLAlchemy's entities know their session and what has changed in them, which costs a long list more than all the rest:
half in making them, half in reading their attributes. A record has the attributes of the class that it is a row of,
and that class's own properties and methods.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from types import FunctionType
from typing import Any, TypeVar, cast

from sqlalchemy import Select, select
from sqlalchemy.orm import InstrumentedAttribute, Session, class_mapper

from pumice.kernel.api.fields import cached
from pumice.kernel.db.engine import plain_rows
from pumice.kernel.db.scope import everything

R = TypeVar("R")


class Record:
    """The base of all records."""


@dataclass(frozen=True, slots=True)
class _Made:
    """How records of one class are made.

    :param names: attributes, in the order of the columns of `statement`
    """

    kind: type[Record]
    names: tuple[str, ...]
    statement: Select[Any]


@cached
def _made(model: type[Any]) -> _Made:
    names = tuple(attribute.key for attribute in class_mapper(model).column_attrs)
    statics = {name: inspect.getattr_static(model, name) for name in dir(model) if not name.startswith("__")}
    own = {name: found for name, found in statics.items() if isinstance(found, property | FunctionType)}
    statement = select(*(getattr(model, name) for name in names)).select_from(model)
    return _Made(type(f"{model.__name__}Record", (Record,), own), names, statement)


def selection(model: type[Any]) -> Select[Any]:
    """A SELECT of all rows of `model`, still without a scope; `records` takes what becomes of it."""
    return _made(model).statement


def records(tx: Session, model: type[R], statement: Select[Any]) -> Sequence[R]:
    """What `statement`, made of `selection(model)`, finds. Records are no instances of `model`, but behave as such."""
    made, found = _made(model), []
    for values in plain_rows(tx, statement):
        record = made.kind()
        record.__dict__ = dict(zip(made.names, values, strict=True))
        found.append(record)
    return cast("Sequence[R]", found)


def hang(rows: Iterable[Any], name: str, values: Mapping[str, Any], *, by: str = "id", otherwise: Any = None) -> None:
    """Give each row, record or entity, as its attribute `name` what `values` has for its attribute `by`."""
    key = attrgetter(by)
    for row in rows:
        # As what is loaded; SQLAlchemy's own way, `set_committed_value`, is for entities only, and slow.
        row.__dict__[name] = values.get(key(row), otherwise)


def children(tx: Session, parent: InstrumentedAttribute[str], ids: Collection[str]) -> dict[str, list[Any]]:
    """The rows whose column `parent` is one of `ids`, by it, the oldest first; one query, or none for no ids."""
    if not ids:
        return {}
    model: Any = parent.class_
    order = (parent, model.created_at, model.id)
    rows = tx.scalars(everything().select(model).where(parent.in_(ids)).order_by(*order))
    return {id: list(group) for id, group in groupby(rows, key=attrgetter(parent.key))}
