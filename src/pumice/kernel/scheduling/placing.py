"""Putting a resource on a pool: the scheduler asked, room claimed and the choice written in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sqlalchemy import func
from sqlalchemy.orm import Session

from pumice.kernel import services
from pumice.kernel.backends import SAMPLES_WANTED
from pumice.kernel.db.engine import Database
from pumice.kernel.db.scope import everything
from pumice.kernel.messages import Code
from pumice.kernel.operations.kinds import Failure, Next
from pumice.kernel.operations.worker import Run
from pumice.kernel.scheduling import pool
from pumice.kernel.scheduling.pool import PoolState
from pumice.kernel.scheduling.request import PlacementRequest
from pumice.kernel.scheduling.scheduler import NoValidPool, Scheduler
from pumice.kernel.scheduling.view import PoolView

ASKED = 30
"""How often a placement asks for newer samples, once a second, before it is refused."""


class RoomUnsure(Exception):
    """No pool has room now, but a newer sample of one may show some: ask again in a moment."""


class Placer:
    """The environment of steps in the scheduler's queue.

    :param binary: of the services whose backends are chosen from
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
        refusal: Code,
        refusals: Mapping[str, Code] = MappingProxyType({}),
        action: Code | None = None,
    ) -> None:
        self._scheduler = scheduler
        self._view = view
        self._binary = binary
        self.refusal = refusal
        self._refusals = refusals
        self.action = action

    def place(self, run: Run, request: PlacementRequest, write: Callable[[Session, PoolState], None]) -> None:
        """Claim room on the best pool, and `write` in the same transaction that it was chosen.

        :raises Failure: no pool will do
        :raises RoomUnsure:
        """

        def claim(chosen: PoolState) -> bool:
            def work(tx: Session) -> bool | None:
                if not services.takes_new(tx, chosen.backend, self._binary):
                    return None
                won = pool.claim(tx, chosen.host, request.gb, thick=request.thick)
                if won:
                    write(tx, chosen)
                return won

            won = run.db.write(work)
            if won is None:
                # Closed since the view was read, which holds states of backends for a while.
                self._view.reread()
            return bool(won)

        try:
            self._scheduler.place(request, self._view, claim)
        except NoValidPool as error:
            if error.unsure:
                raise RoomUnsure from error
            # What the backends said that were tried is more use than that none is left.
            text = run.checkpoint.get("refused") or str(error)
            detail = self._refusals.get(error.emptied_by or "", self.refusal)
            raise Failure(text, detail=detail, action=self.action) from error

    def ask_again(self, run: Run) -> Next:
        """Have the backends report anew, and run the step again soon."""
        asked = run.checkpoint.get("asked", 0)
        if asked >= ASKED:
            raise Failure("no pool has room", detail=self.refusal, action=self.action)
        run.journal.bus.publish(SAMPLES_WANTED, {})
        return Next(run.operation.step, checkpoint={"asked": asked + 1}, delay=1.0)


def is_thick(specs: Mapping[str, str | None]) -> bool:
    """Whether resources of a type count whole, without over-subscription (provisioning:type thick)."""
    return specs.get("provisioning:type") == "thick"


def counted(db: Database, model: Any) -> Mapping[str, int]:
    """The number of rows of `model` by the pool in its column `host`."""
    with db.read() as tx:
        statement = everything().columns(model, model.host, func.count()).group_by(model.host)
        return {host: count for host, count in tx.execute(statement) if host}
