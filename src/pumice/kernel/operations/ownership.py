"""Who has an operation, as conditions of its row's changes: whoever lost it finds that nothing matches."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Update, UpdateBase, and_, or_, update
from sqlalchemy.orm import Session

from pumice.kernel.db.base import utcnow
from pumice.kernel.db.clock import later
from pumice.kernel.db.engine import changed
from pumice.kernel.operations.model import LIVE, Operation, State

LONGEST_DELAY = 60.0
"""Seconds; steps ask to be run again after a few (`Next.delay`)."""


class LeaseLost(Exception):
    """The operation is run by somebody else now, or has ended without us."""


def mine(operation: Operation) -> Update:
    """An UPDATE of the operation's row as long as the run that `operation` was claimed for has it."""
    return update(Operation).where(
        Operation.id == operation.id,
        Operation.owner == operation.owner,
        Operation.attempt == operation.attempt,
        Operation.state == State.RUNNING,
    )


def own(tx: Session, statement: UpdateBase) -> None:
    """:raises LeaseLost: the statement matched no row, so the operation is not ours any more"""
    if not changed(tx, statement):
        raise LeaseLost("the operation has another owner or has ended")


def hold(tx: Session, operation: Operation) -> None:
    """Let a transaction in the middle of a step count only while the run that `operation` was claimed for has it.

    :raises LeaseLost:
    """
    own(tx, mine(operation).values(updated_at=utcnow()))


def due() -> ColumnElement[bool]:
    """Whether an operation may be claimed: a queued one from its `not_before` on, a waiting one when its time is over.

    A queued one that would wait for longer than any step asks for was put back before the database's clock was. What
    is `late` is ended instead.
    """
    misdated = and_(Operation.state == State.QUEUED, Operation.not_before > later(LONGEST_DELAY))
    rests = Operation.state.in_((State.QUEUED, State.WAITING))
    now = or_(Operation.not_before.is_(None), Operation.not_before <= later(), misdated)
    return and_(rests, now, Operation.deadline > later())


def late() -> ColumnElement[bool]:
    """Whether an operation is past its deadline and has not ended."""
    return and_(Operation.state.in_(LIVE), Operation.deadline <= later())


def claimed(owner: str) -> dict[str, Any]:
    """What a claim writes."""
    return {
        "state": State.RUNNING,
        "owner": owner,
        "attempt": Operation.attempt + 1,
        "beat": 0,
        "not_before": None,
        "updated_at": utcnow(),
    }
