"""How a worker gets operations and keeps them: each a conditional UPDATE, and nothing done before it is committed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import UpdateBase, bindparam, exists, select, update
from sqlalchemy.orm import Session

from pumice.kernel.db.engine import changed, on
from pumice.kernel.operations.journal import Journal
from pumice.kernel.operations.model import Hold, Operation, State
from pumice.kernel.operations.ownership import DUE, change, claimed

_CLAIMED = select(Operation, exists().where(Hold.operation_id == Operation.id).label("holds")).where(
    Operation.id == bindparam("the_id")
)


class Claims:
    """:param owner: the worker, as `leases.Life` names it
    :param queues: those that it serves
    """

    def __init__(self, journal: Journal, owner: str, queues: Collection[str]) -> None:
        self._db = journal.db
        self._owner = owner
        table = on(Operation)
        self._claim = (
            update(table)
            .where(
                table.c.id == bindparam("the_id"),
                DUE,
                table.c.kind.in_(list(journal.kinds)),
                table.c.queue.in_(list(queues)),
            )
            .values(attempt=table.c.attempt + 1, signal=None)
        )

    def claim(self, id: str) -> Operation | None:
        """Make an operation ours; None when it is not due, not queued in our queues (any more: it may have gone on to
        another since somebody told us of it), or of an unknown kind."""
        return self._get(id, self._claim, {"the_id": id, **claimed(self._owner)})

    def take_over(self, seen: Operation) -> Operation | None:
        """Make a running operation ours whose owner is dead: its beat is still the one that was `seen`."""
        statement = update(Operation).where(
            Operation.id == seen.id,
            Operation.state == State.RUNNING,
            Operation.owner == seen.owner,
            Operation.attempt == seen.attempt,
            Operation.beat == seen.beat,
        )
        taken = statement.values(attempt=Operation.attempt + 1, fences=Operation.fences + 1, **claimed(self._owner))
        return self._get(seen.id, taken)

    def _get(self, id: str, statement: UpdateBase, values: Mapping[str, Any] | None = None) -> Operation | None:
        def work(tx: Session) -> Operation | None:
            if not changed(tx, statement, values):
                return None
            row = tx.execute(_CLAIMED, {"the_id": id}).one()
            operation: Operation = row.Operation
            operation.holds = row.holds
            return operation

        return self._db.write(work)

    def hand_back(self, operation: Operation) -> None:
        """Put an operation that we run back into its queue."""
        self._db.write(lambda tx: change(tx, operation, state=State.QUEUED, owner=None))

    def beat(self, ids: Collection[str]) -> set[tuple[str, int]]:
        """Renew the leases of operations that we are at work on; the (id, attempt) pairs that are still ours."""
        ours = (Operation.id.in_(list(ids)), Operation.owner == self._owner, Operation.state == State.RUNNING)

        def work(tx: Session) -> set[tuple[str, int]]:
            tx.execute(update(Operation).where(*ours).values(beat=Operation.beat + 1))
            return {(row.id, row.attempt) for row in tx.execute(select(Operation.id, Operation.attempt).where(*ours))}

        return self._db.write(work)
