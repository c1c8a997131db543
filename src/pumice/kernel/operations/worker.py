"""The threads that claim operations and run their steps.

A worker serves some queues. Each lane has its own threads, fed by doorbells and by the sweep that finds what no
doorbell told of; one thread renews the leases. Everything that must survive is in the journal's rows: a worker
may die at any instruction.
"""

from __future__ import annotations

import logging
import queue
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import select

from pumice.kernel.auth.context import RequestContext, new_request_id
from pumice.kernel.db.base import utcnow
from pumice.kernel.db.engine import RETRIED
from pumice.kernel.logging import logged
from pumice.kernel.metrics import Metrics
from pumice.kernel.moves import Superseded
from pumice.kernel.operations.claims import Claims
from pumice.kernel.operations.journal import Journal, doorbell
from pumice.kernel.operations.kinds import Done, Failure, Outcome
from pumice.kernel.operations.leases import Life, Watch
from pumice.kernel.operations.model import Lane, Operation, State
from pumice.kernel.operations.ownership import DUE, LeaseLost, late, own

LOG = logging.getLogger(__name__)

SWEEP_BATCH = 500
BEAT_PATIENCE = 5.0
"""Seconds that a stop waits for the renewal of leases that is under way."""
TOO_LATE = "given up: it was not done by its deadline"


class Run:
    """One attempt at an operation, as its steps see it.

    :ivar operation: its row when it was claimed
    :ivar environment: what the worker was given for the operation's queue (the backend; the scheduler)
    :param lease: seconds after the last renewal from which on others may have it
    """

    def __init__(
        self, journal: Journal, operation: Operation, environment: Any, *, lease: float = float("inf")
    ) -> None:
        self.journal = journal
        self.db = journal.db
        self.operation = operation
        self.environment = environment
        self.lost = threading.Event()
        self.renewed_at = time.monotonic()
        self._lease = lease
        self._progress_at = 0.0

    @property
    def args(self) -> dict[str, Any]:
        return self.operation.args

    @property
    def checkpoint(self) -> dict[str, Any]:
        return self.operation.checkpoint

    def check(self) -> None:
        """To be called before each storage call.

        :raises LeaseLost: a successor has the operation or may have it, or it was cancelled
        """
        if self.lost.is_set():
            raise LeaseLost(f"operation {self.operation.id} is not ours any more")
        if time.monotonic() - self.renewed_at > self._lease:  # we stood still, or the database was away
            raise LeaseLost(f"the lease of operation {self.operation.id} was not renewed in time")

    def expect(self, signal: str) -> None:
        """To be called before asking somebody who will answer with `signal`, for which the step then `Wait`s: it is
        kept from here on.

        :raises LeaseLost: a successor has the operation, or it was cancelled
        """
        self._write(signal=signal)

    def progress(self, percent: float) -> None:
        """Tell how far it is, 0 to 100; written at most once a second."""
        now = time.monotonic()
        if now - self._progress_at >= 1.0:
            self._progress_at = now
            self._write(progress=percent)

    def _write(self, **values: Any) -> None:
        self.db.write(lambda tx: own(tx, self.operation, **values))


class Worker:
    """:param queues: what it serves: the queue's name and the `environment` that runs of it are given
    :param lanes: number of threads of each lane
    :param directory: for the lock files that prove a dead worker of this host dead
    :param lease: seconds after which a beat that stands still means a dead owner
    :param sweep: seconds between looks at the database for what no doorbell told of
    :param all_queues: also expire what is past its deadline in queues that nobody serves (schedulers)
    """

    def __init__(
        self,
        journal: Journal,
        queues: Mapping[str, Any],
        *,
        lanes: Mapping[Lane, int],
        directory: Path,
        metrics: Metrics,
        host: str = "",
        lease: float = 30.0,
        sweep: float = 10.0,
        all_queues: bool = False,
    ) -> None:
        self.journal = journal
        self.queues = queues
        self._metrics = metrics
        self.life = Life(directory, host)
        self._claims = Claims(journal, self.life.owner, queues)
        self._lanes = {lane: _Hints() for lane in lanes}
        self._sizes = lanes
        self._lease = lease
        self._sweep_every = sweep
        self._all_queues = all_queues
        self._watch = Watch(self.life, directory, lease)
        self._runs: dict[str, Run] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._beating = threading.Thread(target=self._beat, name="worker-beat", daemon=True)
        self._silence: list[Any] = []

    # Life

    def start(self) -> None:
        """Begin to serve. What earlier workers of this host left is taken over in the first sweep."""
        for name in self.queues:
            for lane, hints in self._lanes.items():
                self._silence.append(self.journal.bus.listen(doorbell(name, lane), hints.put))
        for lane, number in self._sizes.items():
            for n in range(number):
                self._threads.append(_started(f"{lane}-{n}", self._serve, self._lanes[lane]))
        self._threads.append(_started("sweep", self._sweep_loop))
        self._beating.start()

    def close(self) -> None:
        """Take nothing new."""
        self._stopping.set()
        silences, self._silence = self._silence, []
        for silence in silences:
            silence()

    def stop(self, grace: float = 10.0) -> None:
        """Take nothing new, let what runs end for `grace` seconds, and hand back what has not."""
        self.close()
        for hints, number in zip(self._lanes.values(), self._sizes.values(), strict=True):
            for _ in range(number):
                hints.put("")
        end = time.monotonic() + grace
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        # Until here leases are renewed, or others would begin what is about to end.
        self._ended.set()
        if self._beating.is_alive():
            self._beating.join(BEAT_PATIENCE)
        with self._lock:
            left = list(self._runs.values())
        for run in left:
            run.lost.set()
            self._hand_back(run.operation)
        self.life.end()

    def _hand_back(self, operation: Operation) -> None:
        try:
            self._claims.hand_back(operation)
        except Exception:
            # Nothing else may be left running for it: a successor sees that we are dead.
            LOG.exception("operation %s could not be handed back", operation.id)

    # Running

    def _serve(self, hints: _Hints) -> None:
        while not self._stopping.is_set():
            hint = hints.get()
            if hint and not self._stopping.is_set():
                try:
                    operation = self._claims.claim(hint)
                    if operation is not None:
                        self.run(operation)
                except Exception:
                    # The database is away, or we have a bug: the sweep finds the operation again, once its lease is
                    # over if it was claimed.
                    LOG.exception("operation %s could not be run", hint)

    def run(self, operation: Operation) -> None:
        """Run one step of an operation that is ours, and write how it ended."""
        run = Run(self.journal, operation, self.queues.get(operation.queue), lease=self._lease)
        with self._lock:
            self._runs[operation.id] = run
        context = RequestContext(
            user_id=operation.user_id,
            project_id=operation.project_id,
            request_id=operation.request_id or new_request_id(),
        )
        try:
            with logged(context), self._metrics.running(operation.kind).track_inprogress():
                self._attempt(run)
        except LeaseLost as lost:
            LOG.warning("operation %s (%s) was left: %s", operation.id, operation.kind, lost)
            self._abandon(run)
        finally:
            with self._lock:
                self._runs.pop(operation.id, None)

    def _abandon(self, run: Run) -> None:
        abandon = self.journal.kinds[run.operation.kind].abandon
        if abandon is not None:
            try:
                abandon(run)
            except Exception:
                LOG.exception("operation %s may have left something behind", run.operation.id)

    def _attempt(self, run: Run) -> None:
        operation = run.operation
        try:
            outcome = self._step(run)
            self.journal.conclude(operation, outcome)
            if isinstance(outcome, Done):
                self._count(operation, State.SUCCEEDED)
        except LeaseLost:
            raise
        except Superseded as error:
            self.journal.drop(operation)
            raise LeaseLost(str(error)) from error
        except Failure as failure:
            LOG.error("operation %s (%s) failed: %s", operation.id, operation.kind, failure.text)
            self._fail(operation, failure)
        except RETRIED as error:
            # Nothing is known of the step; a sweep runs it again, after the lease where this cannot be written either.
            LOG.warning("operation %s (%s) is put back: %s", operation.id, operation.kind, type(error).__name__)
            self._claims.hand_back(operation)
        except Exception as error:
            run.check()
            LOG.exception("operation %s (%s) failed", operation.id, operation.kind)
            # Its text is for the log alone: it may hold what no user is to read.
            self._fail(operation, Failure(f"{type(error).__name__}: the service's log tells more"))

    def _fail(self, operation: Operation, failure: Failure) -> None:
        self.journal.fail(operation, failure)
        self._count(operation, State.FAILED)

    def _count(self, operation: Operation, outcome: State) -> None:
        seconds = (utcnow() - operation.created_at).total_seconds()
        self._metrics.operation(operation.kind, outcome, seconds)

    def _step(self, run: Run) -> Outcome:
        operation = run.operation
        kind = self.journal.kinds[operation.kind]
        if operation.fences > kind.takeovers:
            raise Failure("given up: the workers that ran it died again and again")
        return kind.steps[operation.step](run)

    # Leases

    def _beat(self) -> None:
        while not self._ended.wait(self._lease / 4):
            with self._lock:
                runs = list(self._runs.values())
            if runs:
                try:
                    self._renew(runs)
                except Exception:
                    LOG.exception("leases could not be renewed")

    def _renew(self, runs: Sequence[Run]) -> None:
        now = time.monotonic()
        held = self._claims.beat([run.operation.id for run in runs])
        for run in runs:
            run.renewed_at = now
            if (run.operation.id, run.operation.attempt) not in held:
                run.lost.set()

    # Sweeps

    def _sweep_loop(self) -> None:
        pause = 0.0
        while not self._stopping.wait(pause):
            try:
                self.sweep()
            except Exception:
                LOG.exception("the sweep failed")
            pause = self._sweep_every * random.uniform(0.7, 1.3)  # noqa: S311

    def sweep(self) -> None:
        """Find what no doorbell told of: queued work, work of dead owners, work past its deadline."""
        with self.journal.db.read() as tx:
            mine = Operation.queue.in_(list(self.queues))
            order = (Operation.created_at, Operation.id)
            oldest = select(Operation.id, Operation.lane).where(mine, DUE).order_by(*order).limit(SWEEP_BATCH)
            queued = tx.execute(oldest).all()
            running = list(tx.scalars(select(Operation).where(mine, Operation.state == State.RUNNING)))
        with self._lock:
            # Ours among them are those whose end we could not write: they wait out their lease as a dead owner's.
            running = [one for one in running if one.id not in self._runs]
        self._metrics.sweep(len(queued))
        for row in queued:
            self._lanes[Lane(row.lane)].put(row.id)
        for operation in self._watch.dead(running):
            self._each(self._adopt, operation)
        for operation in self._late():
            self._each(self._expire, operation)

    def _each(self, work: Callable[[Operation], None], operation: Operation) -> None:
        """One that cannot be helped keeps the sweep from no other."""
        try:
            work(operation)
        except Exception:
            LOG.exception("the sweep failed on operation %s (%s)", operation.id, operation.kind)

    def _adopt(self, operation: Operation) -> None:
        taken = self._claims.take_over(operation)
        if taken is not None:
            LOG.warning("operation %s (%s) is taken over from %s", taken.id, taken.kind, operation.owner)
            # Run by a lane's thread as any other; it is claimed again there, by us.
            self._claims.hand_back(taken)
            self._lanes[Lane(taken.lane)].put(taken.id)

    def _late(self) -> Sequence[Operation]:
        """What is past its deadline and has nobody who will end it: unserved queues, and steps of ours that hang."""
        ours = [Operation.kind.in_(list(self.journal.kinds))]
        if not self._all_queues:
            ours.append(Operation.queue.in_(list(self.queues)))
        with self.journal.db.read() as tx:
            return tx.scalars(select(Operation).where(late(), *ours).limit(SWEEP_BATCH)).all()

    def _expire(self, operation: Operation) -> None:
        self.journal.expire(operation, TOO_LATE)
        with self._lock:
            run = self._runs.get(operation.id)
        if run is not None:
            run.lost.set()


def _started(name: str, target: Callable[..., None], *args: Any) -> threading.Thread:
    thread = threading.Thread(target=target, args=args, name=f"worker-{name}", daemon=True)
    thread.start()
    return thread


class _Hints:
    """Ids of operations to try, each at most once in line."""

    def __init__(self) -> None:
        self._ids: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._waiting: set[str] = set()
        self._lock = threading.Lock()

    def put(self, id: str) -> None:
        with self._lock:
            if id and id in self._waiting:
                return
            self._waiting.add(id)
        self._ids.put(id)

    def get(self) -> str:
        hint = self._ids.get()
        with self._lock:
            self._waiting.discard(hint)
        return hint
