"""Who has an operation, as conditions of its row's changes: whoever lost it finds that nothing matches."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Update, UpdateBase, update
from sqlalchemy.orm import Session

from pumice.kernel.db.base import utcnow
from pumice.kernel.db.engine import changed
from pumice.kernel.operations.model import Operation, State


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
