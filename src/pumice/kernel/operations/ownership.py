"""Who has an operation, as conditions of its row's changes: whoever lost it finds that nothing matches."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ClauseElement, ColumnElement, and_, bindparam, or_, update
from sqlalchemy.orm import Session

from pumice.kernel.db.base import utcnow
from pumice.kernel.db.clock import later
from pumice.kernel.db.engine import changed, on
from pumice.kernel.operations.model import LIVE, Operation, State

LONGEST_DELAY = 60.0
"""Seconds; steps ask to be run again after a few (`Next.delay`)."""


class LeaseLost(Exception):
    """The operation is run by somebody else now, or has ended without us."""


_TABLE = on(Operation)
_MINE = update(_TABLE).where(
    _TABLE.c.id == bindparam("the_id"),
    _TABLE.c.owner == bindparam("the_owner"),
    _TABLE.c.attempt == bindparam("the_attempt"),
    _TABLE.c.state == State.RUNNING,
)


def change(tx: Session, operation: Operation, **values: Any) -> bool:
    """Change the operation's row if the run that `operation` was claimed for still has it."""
    this = {"the_id": operation.id, "the_owner": operation.owner, "the_attempt": operation.attempt}
    computed = {name: value for name, value in values.items() if isinstance(value, ClauseElement)}
    plain = {name: value for name, value in values.items() if name not in computed}
    return bool(changed(tx, _MINE.values(computed) if computed else _MINE, this | plain))


def own(tx: Session, operation: Operation, **values: Any) -> None:
    """`change`, where it is needed.

    :raises LeaseLost: the operation is not ours any more
    """
    if not change(tx, operation, **values):
        raise LeaseLost("the operation has another owner or has ended")


def hold(tx: Session, operation: Operation) -> None:
    """Let a transaction in the middle of a step count only while the run that `operation` was claimed for has it.

    :raises LeaseLost:
    """
    own(tx, operation, updated_at=utcnow())


DUE = and_(
    _TABLE.c.state.in_((State.QUEUED, State.WAITING)),
    or_(
        _TABLE.c.not_before.is_(None),
        _TABLE.c.not_before <= later(),
        # Put back before the database's clock was: no step asks to wait for so long.
        and_(_TABLE.c.state == State.QUEUED, _TABLE.c.not_before > later(LONGEST_DELAY)),
    ),
    _TABLE.c.deadline > later(),
)
"""Whether an operation may be claimed: a queued one from its `not_before` on, a waiting one when its time is over.
What is `late` is ended instead."""


def late() -> ColumnElement[bool]:
    """Whether an operation is past its deadline and has not ended."""
    return and_(Operation.state.in_(LIVE), Operation.deadline <= later())


def claimed(owner: str) -> dict[str, Any]:
    """What a claim writes, besides the number of the attempt."""
    return {
        "state": State.RUNNING,
        "owner": owner,
        "beat": 0,
        "not_before": None,
        "updated_at": utcnow(),
    }
