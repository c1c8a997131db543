"""The journal: operations are submitted, signalled, superseded and ended here, each in one transaction.

Workers get them by `kernel.operations.claims`; `kernel.operations.worker` adds threads, leases and sweeps.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from pumice.kernel import moves
from pumice.kernel.auth.context import RequestContext
from pumice.kernel.bus import Bus
from pumice.kernel.db.base import Moving, new_id, utcnow
from pumice.kernel.db.clock import later
from pumice.kernel.db.engine import Database, after_commit, changed, proven_by
from pumice.kernel.messages import Code, Messages
from pumice.kernel.moves import End, Guard, Superseded
from pumice.kernel.notify import Notifier
from pumice.kernel.operations.kinds import Change, Done, Failure, Kind, Next, Outcome, Wait
from pumice.kernel.operations.model import LIVE, Hold, Lane, Operation, State
from pumice.kernel.operations.ownership import LeaseLost, change, own

LOG = logging.getLogger(__name__)

FINISHED = "operations.finished"
"""Topic on the bus: {"id": …} of each operation of the fast lane that has ended, for those who wait for it."""

R = TypeVar("R", bound=Moving)


class Journal:
    """:param kinds: every kind of the service; workers claim only these
    :param messages: to users, about failures
    :param seconds: from an operation's acceptance to its deadline
    """

    def __init__(
        self,
        db: Database,
        bus: Bus,
        notifier: Notifier,
        kinds: Iterable[Kind],
        messages: Messages,
        *,
        seconds: float = 24 * 3600.0,
    ) -> None:
        self.db = db
        self.bus = bus
        self.notifier = notifier
        self.kinds: Mapping[str, Kind] = {kind.name: kind for kind in kinds}
        self._messages = messages
        self._seconds = seconds

    # Submitting

    def submit(
        self,
        tx: Session,
        kind: Kind,
        context: RequestContext,
        resource: Any,
        *,
        id: str,
        queue: str,
        step: str = "run",
        args: Mapping[str, Any] | None = None,
        holds: Sequence[str] = (),
        shown: bool = True,
    ) -> Operation:
        """Write the operation, in the transaction that begins its move (`begin`) or adds its resource.

        :param resource: the row that it is about, with its `id` and `project_id`
        :param id: made before the transaction
        :param queue: "scheduler", or a backend's
        :param holds: ids of resources that it reads from and that must not go away before it has ended
        """
        operation = Operation(
            id=id,
            kind=kind.name,
            queue=queue,
            lane=kind.lane,
            step=step,
            resource_type=kind.resource_type,
            resource_id=resource.id,
            project_id=resource.project_id,
            user_id=context.user_id,
            request_id=context.request_id,
            args=dict(args or {}),
            deadline=later(kind.seconds or self._seconds),
            shown=shown,
            state=State.QUEUED,
        )
        tx.add(operation)
        tx.add_all([Hold(id=new_id(), operation_id=id, resource_id=held) for held in holds])
        tx.flush()
        proven_by(tx, lambda again: again.get(Operation, id) is not None)
        self._tell(tx, operation, kind, "start", resource)
        self.ring(tx, operation)
        return operation

    def begin(
        self,
        tx: Session,
        kind: Kind,
        context: RequestContext,
        *,
        id: str,
        queue: str,
        resource_id: str,
        guards: Sequence[Guard] = (),
        args: Mapping[str, Any] | None = None,
        holds: Sequence[str] = (),
        step: str = "run",
        **values: Any,
    ) -> Any:
        """Begin the kind's move on its resource and submit the operation; returns the row as it is then.

        A move that may begin from any status takes the row away from an operation that has it (`supersede`).
        """
        assert kind.model is not None
        assert kind.move is not None
        if kind.move.start is None:
            self.supersede(tx, kind.model, resource_id)
        row = moves.begin(tx, kind.model, resource_id, kind.move, operation_id=id, guards=guards, **values)
        self.submit(tx, kind, context, row, id=id, queue=queue, args=args, holds=holds, step=step)
        return row

    def ring(self, tx: Session, operation: Operation) -> None:
        """Ring the doorbell once the transaction has been committed."""
        bell = doorbell(operation.queue, operation.lane)
        after_commit(tx, lambda: self.bus.ring(bell, operation.id))

    def _ring_later(self, bell: str, id: str, delay: float) -> None:
        if not delay:
            self.bus.ring(bell, id)
            return
        timer = threading.Timer(delay, self.bus.ring, (bell, id))
        timer.daemon = True
        timer.start()

    def supersede(self, tx: Session, model: type[R], id: str) -> None:
        """Take a row away from the operation that owns it: the operation is cancelled and its charges undone.

        Where the row only went along with the operation's own one (a snapshot with its volume), that one rests
        where a failure leaves it.
        """
        # Locked, or another operation could begin its move between this look and the caller's own.
        owner = tx.scalar(select(model.operation_id).where(model.id == id).with_for_update())
        if owner is None:
            return
        statement = update(Operation).where(Operation.id == owner, Operation.state.in_(LIVE))
        if changed(tx, statement.values(state=State.CANCELLED, finished_at=utcnow(), error="superseded")):
            operation = tx.get_one(Operation, owner, populate_existing=True)
            kind = self.kinds[operation.kind]
            self._forget(tx, operation)
            if operation.resource_id == id:
                kind.undo(tx, operation)
            else:
                self._failed(tx, operation, kind, Failure("superseded"))

    def reset(self, tx: Session, model: type[R], id: str, status: str) -> None:
        """Let a row rest in a status that an administrator says; an operation that has it has no say any more."""
        self.supersede(tx, model, id)
        moves.touch(tx, model, id, status=status, operation_id=None)

    def remove(self, tx: Session, kind: Kind, row: Any, also: Callable[..., None], guards: Sequence[Guard]) -> None:
        """Remove a row with which nothing is to be done on a backend: the kind's move begins and ends at once.

        :param also: `also(tx, row)` removes what hangs on the row
        """
        assert kind.model is not None
        assert kind.move is not None
        if kind.move.start is None:
            self.supersede(tx, kind.model, row.id)
        moves.begin(tx, kind.model, row.id, kind.move, operation_id=None, guards=guards)
        also(tx, row)
        changed(tx, delete(kind.model).where(kind.model.id == row.id))

    def signal(self, tx: Session, id: str, signal: str, payload: Mapping[str, Any]) -> bool:
        """Wake an operation that waits for `signal`, or give it to one that expects it; False when none does."""
        expecting = (Operation.state.in_((State.RUNNING, State.WAITING)), Operation.signal == signal)
        statement = select(Operation).where(Operation.id == id, *expecting).with_for_update()
        operation = tx.scalars(statement).one_or_none()
        if operation is None:
            return False
        operation.checkpoint = {**operation.checkpoint, signal: dict(payload)}
        operation.signal = None
        if operation.state == State.WAITING:
            operation.state, operation.not_before = State.QUEUED, None
            self.ring(tx, operation)
        return True

    # Ending

    def conclude(self, operation: Operation, outcome: Outcome) -> None:
        """Write what a step answered, if the operation and its resource are still ours.

        :raises LeaseLost: they are not
        """
        kind = self.kinds[operation.kind]

        def work(tx: Session) -> None:
            match outcome:
                case Done():
                    self._finish(tx, operation, State.SUCCEEDED, None)
                    self._done(tx, operation, kind, outcome)
                case Next():
                    self._next(tx, operation, kind, outcome)
                case Wait():
                    self._wait(tx, operation, outcome)

        self._write(operation, work)

    def fail(self, operation: Operation, failure: Failure) -> None:
        """End an operation in failure: status, charges and a message for the user in one transaction.

        :raises LeaseLost: the operation or its resource is not ours any more
        """
        kind = self.kinds[operation.kind]

        def work(tx: Session) -> None:
            self._finish(tx, operation, State.FAILED, failure.text)
            self._failed(tx, operation, kind, failure)

        self._write(operation, work)

    def expire(self, operation: Operation, text: str) -> None:
        """End in failure an operation that nobody works on (any more), unless somebody is faster."""
        seen = (Operation.id == operation.id, Operation.state == operation.state)
        same = (Operation.attempt == operation.attempt, Operation.beat == operation.beat)
        values = {"state": State.FAILED, "error": text, "finished_at": utcnow()}

        def work(tx: Session) -> None:
            if not changed(tx, update(Operation).where(*seen, *same).values(values)):
                raise LeaseLost("somebody was faster")
            self._forget(tx, operation)
            # As it is now: a signal may have brought something since.
            self._failed(tx, tx.get_one(Operation, operation.id), self.kinds[operation.kind], Failure(text))

        try:
            self.db.write(work)
        except (LeaseLost, Superseded) as error:
            LOG.info("operation %s has not expired: %s", operation.id, error)

    def _write(self, operation: Operation, work: Change) -> None:
        try:
            self.db.write(work)
        except Superseded as error:
            self.drop(operation)
            raise LeaseLost(str(error)) from error

    def drop(self, operation: Operation) -> None:
        """End without effect an operation that we have and whose resource has gone to another owner."""

        def work(tx: Session) -> None:
            change(tx, operation, state=State.CANCELLED, error="superseded", finished_at=utcnow())
            self._forget(tx, operation)

        self.db.write(work)

    def _finish(self, tx: Session, operation: Operation, state: State, error: str | None) -> None:
        progress = {"progress": 100.0} if state is State.SUCCEEDED else {}
        own(tx, operation, state=state, error=error, finished_at=utcnow(), **progress)
        this = (Operation.id == operation.id, Operation.attempt == operation.attempt, Operation.state == state)
        proven_by(tx, lambda again: again.scalar(select(Operation.id).where(*this)) is not None)
        self._forget(tx, operation)

    def _forget(self, tx: Session, operation: Operation) -> None:
        if operation.holds:
            tx.execute(delete(Hold).where(Hold.operation_id == operation.id))
        if operation.lane == Lane.FAST:
            after_commit(tx, lambda: self.bus.publish(FINISHED, {"id": operation.id}))

    def _done(self, tx: Session, operation: Operation, kind: Kind, outcome: Done) -> None:
        outcome.also(tx)
        if kind.model is None or kind.move is None:
            return
        status = outcome.status or kind.move.done
        if status is End.GONE:
            self._tell(tx, operation, kind, "end")
        moves.end(tx, kind.model, operation.resource_id, status, operation_id=operation.id, **outcome.values)
        kind.after(tx, operation)
        if status is not End.GONE:
            self._tell(tx, operation, kind, "end")

    def _failed(self, tx: Session, operation: Operation, kind: Kind, failure: Failure) -> None:
        kind.undo(tx, operation)
        if kind.model and kind.move:
            status = failure.status or kind.move.failed
            moves.end(tx, kind.model, operation.resource_id, status, operation_id=operation.id)
            kind.after(tx, operation)
        self.message(tx, operation, failure.detail, failure.action)

    def message(self, tx: Session, operation: Operation, detail: Code, action: Code | None = None) -> None:
        """Tell the user what went wrong in an operation, whole or in part; of a kind that has an `action`."""
        kind = self.kinds[operation.kind]
        if kind.action is None:
            return
        resource_type, resource_id = kind.subject(operation)
        self._messages.record(
            tx,
            project_id=operation.project_id,
            request_id=operation.request_id,
            resource_type=resource_type,
            resource_id=resource_id,
            action=action or kind.action,
            detail=detail,
        )

    def _next(self, tx: Session, operation: Operation, kind: Kind, outcome: Next) -> None:
        values: dict[str, Any] = {"state": State.QUEUED, "step": outcome.step, "owner": None}
        values["checkpoint"] = {**operation.checkpoint, **outcome.checkpoint}
        values["queue"] = outcome.queue or operation.queue
        if outcome.delay:
            values["not_before"] = later(outcome.delay)
        own(tx, operation, **values)
        if kind.model and outcome.values:
            moves.amend(tx, kind.model, operation.resource_id, operation_id=operation.id, **outcome.values)
        outcome.also(tx)
        bell = doorbell(values["queue"], operation.lane)
        after_commit(tx, lambda: self._ring_later(bell, operation.id, outcome.delay))

    def _wait(self, tx: Session, operation: Operation, outcome: Wait) -> None:
        values: dict[str, Any] = {"state": State.QUEUED, "step": outcome.step, "owner": None}
        kept = tx.scalar(select(Operation.checkpoint).where(Operation.id == operation.id).with_for_update())
        if outcome.signal in (kept or {}):
            self.ring(tx, operation)
        else:
            values |= {"state": State.WAITING, "signal": outcome.signal, "not_before": later(outcome.timeout)}
        own(tx, operation, **values)

    def _tell(self, tx: Session, operation: Operation, kind: Kind, phase: str, row: Any = None) -> None:
        """Notify of a phase of the operation, `row` being its resource as it is then; it is read where not given."""
        if not (self.notifier.enabled and kind.event and kind.describe and kind.model):
            return
        if row is None:
            row = tx.get(kind.model, operation.resource_id, populate_existing=True)
        if row is not None:
            self.notifier.emit(tx, operation.id, f"{kind.event}.{phase}", kind.describe(tx, row))


def doorbell(queue: str, lane: str = Lane.WORK) -> str:
    """The bus's name of a queue's lane."""
    return f"{queue}/{lane}"
