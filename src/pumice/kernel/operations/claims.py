"""How a worker gets operations and keeps them: each a conditional UPDATE, and nothing done before it is committed."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import UpdateBase, select, update
from sqlalchemy.orm import Session

from pumice.kernel.db.engine import changed
from pumice.kernel.operations.journal import Journal
from pumice.kernel.operations.model import Operation, State
from pumice.kernel.operations.ownership import claimed, due, mine


class Claims:
    """:param owner: the worker, as `leases.Life` names it
    :param queues: those that it serves
    """

    def __init__(self, journal: Journal, owner: str, queues: Collection[str]) -> None:
        self._db = journal.db
        self._kinds = list(journal.kinds)
        self._owner = owner
        self._queues = list(queues)

    def claim(self, id: str) -> Operation | None:
        """Make an operation ours; None when it is not due, not queued in our queues (any more: it may have gone on to
        another since somebody told us of it), or of an unknown kind."""
        statement = update(Operation).where(
            Operation.id == id,
            due(),
            Operation.kind.in_(self._kinds),
            Operation.queue.in_(self._queues),
        )
        return self._get(id, statement.values(**claimed(self._owner), signal=None))

    def take_over(self, seen: Operation) -> Operation | None:
        """Make a running operation ours whose owner is dead: its beat is still the one that was `seen`."""
        statement = update(Operation).where(
            Operation.id == seen.id,
            Operation.state == State.RUNNING,
            Operation.owner == seen.owner,
            Operation.attempt == seen.attempt,
            Operation.beat == seen.beat,
        )
        return self._get(seen.id, statement.values(**claimed(self._owner), fences=Operation.fences + 1))

    def _get(self, id: str, statement: UpdateBase) -> Operation | None:
        return self._db.write(lambda tx: tx.get_one(Operation, id) if changed(tx, statement) else None)

    def hand_back(self, operation: Operation) -> None:
        """Put an operation that we run back into its queue."""
        self._db.write(lambda tx: changed(tx, mine(operation).values(state=State.QUEUED, owner=None)))

    def beat(self, ids: Collection[str]) -> set[tuple[str, int]]:
        """Renew the leases of operations that we are at work on; the (id, attempt) pairs that are still ours."""
        ours = (Operation.id.in_(list(ids)), Operation.owner == self._owner, Operation.state == State.RUNNING)

        def work(tx: Session) -> set[tuple[str, int]]:
            tx.execute(update(Operation).where(*ours).values(beat=Operation.beat + 1))
            return {(row.id, row.attempt) for row in tx.execute(select(Operation.id, Operation.attempt).where(*ours))}

        return self._db.write(work)
