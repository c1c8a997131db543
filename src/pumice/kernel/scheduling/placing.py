"""How a resource gets its room on a pool: placed when it is new, tried elsewhere, grown.

What is new is placed by the API as it is accepted, where a pool has room; else by the scheduler, in steps. Either way
room is claimed and the choice is written in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from pumice.kernel import moves, services
from pumice.kernel.backends import SAMPLES_WANTED, queue_of
from pumice.kernel.db.base import Placed
from pumice.kernel.db.engine import Database, after_commit
from pumice.kernel.db.scope import everything
from pumice.kernel.messages import Code
from pumice.kernel.moves import End
from pumice.kernel.operations.kinds import Failure, Next
from pumice.kernel.operations.model import Operation
from pumice.kernel.operations.ownership import hold
from pumice.kernel.operations.worker import Run
from pumice.kernel.scheduling import pool
from pumice.kernel.scheduling.pool import PoolState
from pumice.kernel.scheduling.request import PlacementRequest
from pumice.kernel.scheduling.scheduler import NoValidPool, Scheduler
from pumice.kernel.scheduling.view import PoolView
from pumice.kernel.steps import leave_nothing

SCHEDULER = "scheduler"
"""The queue that all schedulers serve."""
BUILD = "build"
"""The step by which a worker makes what has been placed on its backend."""
ASKED = 30
"""How often a placement asks for newer samples, once a second, before it is refused."""


class RoomUnsure(Exception):
    """No pool has room now, but a newer sample of one may show some: ask again in a moment."""


class Placer:
    """What places: in the API, and as the environment of steps in the scheduler's queue.

    :param binary: of the services whose backends are chosen from
    :param part: the part that serves these backends (`kernel.backends.queue_of`)
    :param refusal: the detail of the user's message when no pool will do
    :param refusals: the details that are said instead, by the name of the filter that left no pool
    :param action: the message's action, where it is not that of the operation
    """

    def __init__(
        self,
        scheduler: Scheduler,
        view: PoolView,
        *,
        binary: str,
        part: str,
        refusal: Code,
        refusals: Mapping[str, Code] = MappingProxyType({}),
        action: Code | None = None,
    ) -> None:
        self._scheduler = scheduler
        self.view = view
        self._binary = binary
        self._part = part
        self.refusal = refusal
        self._refusals = refusals
        self.action = action

    def queue_of(self, backend: str) -> str:
        return queue_of(self._part, backend)

    def place(self, run: Run, row: Placed, request: PlacementRequest) -> str:
        """Claim room on the best pool and write it to the row; the pool's backend.

        :raises Failure: no pool will do
        :raises RoomUnsure:
        :raises LeaseLost: another scheduler has the operation
        """

        def claim(chosen: PoolState) -> bool:
            def work(tx: Session) -> bool | None:
                hold(tx, run.operation)
                won = self._claim(tx, chosen, request)
                if won:
                    moves.amend(tx, type(row), row.id, operation_id=run.operation.id, **_home(chosen))
                return won

            won = run.db.write(work)
            if won is None:
                # Closed since the view was read, which holds states of backends for a while.
                self.view.reread()
            return bool(won)

        try:
            return self._scheduler.place(request, self.view, claim).backend
        except NoValidPool as error:
            if error.unsure:
                raise RoomUnsure from error
            # What the backends said that were tried is more use than that none is left.
            text = run.checkpoint.get("refused") or str(error)
            detail = self._refusals.get(error.emptied_by or "", self.refusal)
            raise Failure(text, detail=detail, action=self.action) from error

    def at_once(self, tx: Session, row: Placed, request: PlacementRequest) -> tuple[str, str]:
        """Claim room on the best pool within the transaction that adds `row`; the queue and the step to begin with.

        What cannot be placed here the scheduler does: no pool will do as far as is known, what is known is not so any
        more, or a hint may need others to be asked.
        """
        chosen = None if any(request.hints.values()) else self._scheduler.rank(request, self.view.pools()).chosen
        if chosen is None:
            return SCHEDULER, "run"
        if not self._claim(tx, chosen, request):
            after_commit(tx, self.view.reread)
            return SCHEDULER, "run"
        after_commit(tx, lambda: self.view.count(chosen.host, request.gb))
        for name, value in _home(chosen).items():
            setattr(row, name, value)
        return self.queue_of(chosen.backend), BUILD

    def _claim(self, tx: Session, chosen: PoolState, request: PlacementRequest) -> bool | None:
        """Whether the pool has room; None where its backend was closed since the view was read."""
        if pool.claim(tx, chosen.host, request.gb, thick=request.thick, binary=self._binary):
            return True
        takes_new = tx.scalar(select(services.TAKES_NEW), services.of(chosen.backend, self._binary))
        return False if takes_new else None

    def ask_again(self, run: Run) -> Next:
        """Have the backends report anew, and run the step again soon."""
        asked = run.checkpoint.get("asked", 0)
        if asked >= ASKED:
            raise Failure("no pool has room", detail=self.refusal, action=self.action)
        run.journal.bus.publish(SAMPLES_WANTED, {})
        return Next(run.operation.step, checkpoint={"asked": asked + 1}, delay=1.0)


def _home(chosen: PoolState) -> dict[str, Any]:
    """Where a resource lies that was placed on the pool, as columns of `Placed`."""
    return {
        "host": chosen.host,
        "cluster_name": chosen.state.cluster,
        "availability_zone": chosen.state.availability_zone,
    }


def wanted(args: Mapping[str, Any], tried: Mapping[str, Any], **resource: Any) -> PlacementRequest:
    """What is asked for a new resource: what the arguments of its operation and earlier tries (its checkpoint) say,
    besides what the resource is."""
    return PlacementRequest(
        zones=frozenset(args["zones"]),
        hints=args["hints"],
        attempted=frozenset(tried.get("attempted", ())),
        only=args["only"],
        **resource,
    )


def schedule(run: Run, row: Placed, request_of: Callable[[Session], PlacementRequest]) -> Next:
    """Claim room for a new resource on the best pool, and hand over to its worker for the step `build`."""
    placer: Placer = run.environment
    backend = row.backend
    if row.host is None:
        with run.db.read() as tx:
            request = request_of(tx)
        try:
            backend = placer.place(run, row, request)
        except RoomUnsure:
            return placer.ask_again(run)
    return Next(BUILD, queue=placer.queue_of(backend))


def elsewhere(run: Run, row: Placed, gb: int, refusal: Failure, *, bound: bool, remove: Callable[[], None]) -> Next:
    """Have another backend build what this one refused, where there are tries left; else fail.

    :param gb: what was claimed
    :param bound: no other backend can build it
    :param remove: removes what may be left on this one
    """
    attempted = [*run.checkpoint.get("attempted", []), row.host]
    if bound or len(attempted) >= run.args["attempts"]:
        raise refusal
    leave_nothing(run, f"{row.__label__.lower()} {row.id} on {row.host}", remove)

    def also(tx: Session) -> None:
        pool.release(tx, row.host or "", gb, settled=False)

    tried = {"attempted": attempted, "refused": refusal.text}
    return Next("run", queue=SCHEDULER, values={"host": None}, also=also, checkpoint=tried)


def reserve_growth(run: Run, row: Placed, growth: int, *, then: str) -> Next:
    """Claim `growth` GiB more on a resource's pool, before its backend is asked: the step `then`.

    The operation's arguments say if the growth counts whole (`thick`), and if it is to be whether there is room or not
    (`force`).
    """
    placer: Placer = run.environment
    thick, regardless = run.args["thick"], run.args.get("force", False)

    def also(tx: Session) -> None:
        if not pool.claim(tx, row.host or "", growth, thick=thick, regardless=regardless):
            text = f"pool {row.host} has no room for {growth} GiB more"
            raise Failure(text, detail=placer.refusal, status=End.PREVIOUS)

    return Next(then, queue=placer.queue_of(row.backend), also=also, checkpoint={"claimed": growth})


def release_growth(tx: Session, operation: Operation, row: Placed) -> None:
    """Give back what `reserve_growth` claimed, if it did."""
    if "claimed" in operation.checkpoint:
        pool.release(tx, row.host or "", operation.checkpoint["claimed"], settled=False)


def is_thick(specs: Mapping[str, str | None]) -> bool:
    """Whether resources of a type count whole, without over-subscription (provisioning:type thick)."""
    return specs.get("provisioning:type") == "thick"


def counted(db: Database, model: Any) -> Mapping[str, int]:
    """The number of rows of `model` by the pool in its column `host`."""
    with db.read() as tx:
        statement = everything().columns(model, model.host, func.count()).group_by(model.host)
        return {host: count for host, count in tx.execute(statement) if host}
