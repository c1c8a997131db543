"""Statuses and the moves between them, as data, and the one way to begin and to end a move.

A resource class lists its moves once. To begin one is a single `UPDATE … WHERE status IN (…)`; nobody writes a
status by hand and nobody checks first and writes later. While a row moves, `operation_id` names the operation
that owns it, and only that operation can end the move.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, SQLColumnExpression, UpdateBase, and_, delete, select, update
from sqlalchemy.orm import Session

from pumice.kernel.db.base import Moving, Versioned, utcnow
from pumice.kernel.db.engine import changed
from pumice.kernel.errors import ApiError, BadRequest, NotFound


class End(enum.Enum):
    """Where a move can end besides a named status."""

    PREVIOUS = "the status that it came from"
    GONE = "the row is removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """:param name: the word for messages, "extend"
    :param start: statuses that it may begin from; None is any
    :param via: the status while it is under way; None leaves the status as it is
    :param done, failed: the status afterwards
    :param refusal: error class of the answer when the status does not allow the move
    """

    name: str
    start: frozenset[str] | None
    via: str | None
    done: str | End
    failed: str | End
    refusal: type[ApiError] = BadRequest


CREATE = Move(name="create", start=frozenset(), via="creating", done="available", failed="error")
FORCE_DELETE = Move(name="force delete", start=None, via="deleting", done=End.GONE, failed="error_deleting")


def deletion(start: Collection[str], refusal: type[ApiError] = BadRequest) -> Move:
    """The move that removes a resource which is in one of some statuses."""
    return replace(FORCE_DELETE, name="delete", start=frozenset(start), refusal=refusal)


@dataclass(frozen=True, slots=True)
class Guard:
    """A further condition of a move: SQL on the row (and its children), and what to say when it does not hold."""

    condition: ColumnElement[bool]
    refusal: str
    error: type[ApiError] = BadRequest


R = TypeVar("R", bound=Moving)
V = TypeVar("V", bound=Versioned)


class Superseded(Exception):
    """The row is owned by another operation, or gone: whoever meant to change it has no say any more."""


def begin(
    tx: Session,
    model: type[R],
    id: str,
    move: Move,
    *,
    operation_id: str | None,
    guards: Sequence[Guard] = (),
    **values: Any,
) -> R:
    """Begin `move` on a row and return the row as it is then.

    :param operation_id: the operation that will end the move; None for a move that is over at once, which then
        ends in `move.done`
    :param values: columns to set in the same statement
    :raises ApiError: the status or a guard refuses (`move.refusal`, `Guard.error`); 404 when the row is gone
    """
    status = move.via if operation_id else move.done
    if isinstance(status, str):
        values |= {"status": status, "previous_status": model.status}
    if operation_id:
        values["operation_id"] = operation_id
    allowed = [] if move.start is None else [model.status.in_(sorted(move.start)), model.operation_id.is_(None)]
    if not _change(tx, model, id, [*allowed, *(g.condition for g in guards)], values):
        raise _why(tx, model, id, move, guards)
    return _fresh(tx, model, id)


def end(tx: Session, model: type[R], id: str, status: str | End, *, operation_id: str, **values: Any) -> None:
    """End the move that `operation_id` owns, in `status`.

    :raises Superseded: the row is not that operation's (any more)
    """
    mine = (model.id == id, model.operation_id == operation_id)
    if status is End.GONE:
        statement: UpdateBase = delete(model).where(*mine)
    else:
        values |= {"operation_id": None, "version": model.version + 1, "updated_at": utcnow()}
        values["status"] = model.previous_status if status is End.PREVIOUS else status
        statement = update(model).where(*mine).values(values)
    if changed(tx, statement) == 0:
        raise Superseded(f"{model.__label__} {id} is not operation {operation_id}'s")


def amend(tx: Session, model: type[R], id: str, *, operation_id: str, **values: Any) -> None:
    """Set columns of a row in the middle of a move.

    :raises Superseded: the row is not that operation's (any more)
    """
    statement = update(model).where(model.id == id, model.operation_id == operation_id).values(values)
    if changed(tx, statement) == 0:
        raise Superseded(f"{model.__label__} {id} is not operation {operation_id}'s")


def touch(tx: Session, model: type[V], id: str, *, guards: Sequence[Guard] = (), **values: Any) -> V:
    """Change a row's columns (its `version` at least) without a move: two that must exclude each other meet here.

    :raises ApiError: a guard refuses; 404 when the row is gone
    """
    if not _change(tx, model, id, [guard.condition for guard in guards], values):
        raise _broken(tx, model, id, guards) or NotFound(f"{model.__label__} {id} could not be found.")
    return _fresh(tx, model, id)


def _change(tx: Session, model: type[V], id: str, conditions: Sequence[ColumnElement[bool]], values: Any) -> bool:
    values = values | {"version": model.version + 1, "updated_at": utcnow()}
    # MySQL and MariaDB assign from left to right: what reads the row comes before what replaces a value.
    ordered = sorted(values.items(), key=lambda item: not isinstance(item[1], SQLColumnExpression))
    return bool(changed(tx, update(model).where(model.id == id, *conditions).ordered_values(*ordered)))


def lock(tx: Session, model: type[V], id: str) -> V:
    """The row as it is, kept from changing until the transaction ends.

    :raises NotFound: it is gone
    """
    statement = select(model).where(model.id == id).with_for_update().execution_options(populate_existing=True)
    row = tx.scalars(statement).one_or_none()
    if row is None:
        raise NotFound(f"{model.__label__} {id} could not be found.")
    return row


def _fresh(tx: Session, model: type[V], id: str) -> V:
    return tx.scalars(select(model).where(model.id == id).execution_options(populate_existing=True)).one()


def _why(tx: Session, model: type[R], id: str, move: Move, guards: Sequence[Guard]) -> ApiError:
    """The answer for a move that matched no row: the first of its conditions that does not hold."""
    found = tx.execute(select(model.status, model.operation_id).where(model.id == id)).one_or_none()
    if found is None:
        return NotFound(f"{model.__label__} {id} could not be found.")
    if move.start is not None and found.status not in move.start:
        allowed = ", ".join(sorted(move.start))
        return move.refusal(
            f"{model.__label__} {id} has status {found.status}: {move.name} is allowed only in status {allowed}."
        )
    return _broken(tx, model, id, guards) or move.refusal(
        f"{model.__label__} {id} is being changed by another request: try again when that has ended."
    )


def _broken(tx: Session, model: type[V], id: str, guards: Sequence[Guard]) -> ApiError | None:
    """The refusal of the first guard that does not hold on the row."""
    if tx.scalar(select(model.id).where(model.id == id)) is None:
        return None
    broken = (g for g in guards if not tx.scalar(select(model.id).where(and_(model.id == id, g.condition))))
    return next((guard.error(guard.refusal) for guard in broken), None)
