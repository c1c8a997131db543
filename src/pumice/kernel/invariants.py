"""What must hold of the rows of every service at any moment: the parts that services' own checks are made of."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from pumice.kernel.operations.model import LIVE, Operation


def orphans(tx: Session, models: Iterable[type[Any]]) -> list[str]:
    """Rows that belong to an operation which has ended."""
    found = []
    for model in models:
        live = select(Operation.id).where(Operation.state.in_(LIVE))
        statement = select(model.id, model.status, model.operation_id).where(
            model.operation_id.is_not(None), model.operation_id.not_in(live)
        )
        found += [
            f"{model.__label__} {row.id} is {row.status} and its operation {row.operation_id} has ended"
            for row in tx.execute(statement)
        ]
    return found


def unmoved(tx: Session, moving: Iterable[tuple[type[Any], Collection[str]]]) -> list[str]:
    """Rows in a moving status without an operation: a bug, or an administrator's reset."""
    return [
        f"{model.__label__} {row.id} is {row.status} and nothing moves it"
        for model, statuses in moving
        for row in tx.execute(
            select(model.id, model.status).where(model.status.in_(statuses), model.operation_id.is_(None))
        )
    ]


def lines(kind: str, what: str, ids: Iterable[str]) -> list[str]:
    return [f"{kind} {id} {what}" for id in sorted(ids)]
