"""What steps of all services ask of their backend: its driver, its locks, and what its refusals mean."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from pumice.kernel.backends import Backend
from pumice.kernel.db.base import Moving
from pumice.kernel.db.scope import everything
from pumice.kernel.drivers import BackendError, NoSpace, ObjectMissing
from pumice.kernel.errors import BadRequest
from pumice.kernel.locks import LockTimeout
from pumice.kernel.messages import Cause, Code
from pumice.kernel.moves import FORCE_DELETE, End, Superseded
from pumice.kernel.operations.kinds import Failure, Next, Outcome, Step
from pumice.kernel.operations.worker import Run
from pumice.kernel.scheduling import pool

LOG = logging.getLogger(__name__)

PATIENCE = 1.0
"""Seconds that an operation waits for a lock before another one has its thread."""
PAUSE = (0.5, 1.5)
"""Seconds until it tries again: at random, or it might always come when another has it that comes as regularly."""

P = TypeVar("P")
R = TypeVar("R", bound=Moving)


def row_of(run: Run, model: type[R], id: str | None = None) -> R:
    """A row that a step works on, read anew: the operation's resource, or another.

    :raises Superseded: it is gone
    """
    id = id or run.operation.resource_id
    with run.db.read() as tx:
        row = everything().find(tx, model, id)
    if row is None:
        raise Superseded(f"{model.__label__} {id} is gone")
    return row


def driver_of(run: Run) -> Any:
    """The driver that a step works with, asked for right before each storage call.

    :raises LeaseLost: the operation is not ours any more
    :raises Failure: the backend is not ready
    """
    run.check()
    backend: Backend[Any] = run.environment
    return backend.driver


def alone(name_of: Callable[[Run], str]) -> Callable[[Step], Step]:
    """A decorator of steps: run while nobody else has the lock that `name_of(run)` names.

    A worker's thread does not wait for long: it leaves the operation for later.
    """

    def decorate(step: Step) -> Step:
        def run_alone(run: Run) -> Outcome:
            backend: Backend[Any] = run.environment
            try:
                with backend.exclusive(name_of(run), PATIENCE):
                    return step(run)
            except LockTimeout:
                return Next(run.operation.step, delay=random.uniform(*PAUSE))  # noqa: S311

        return run_alone

    return decorate


def capable(run: Run, protocol: type[P], what: str, *, detail: Code = Cause.UNKNOWN, status: End | None = None) -> P:
    """The driver that a step works with, as one of those that can do `what`; asked for as `driver_of` is.

    :param what: "clone volumes"
    :param detail, status: of the failure, where the backend cannot
    :raises LeaseLost: the operation is not ours any more
    :raises Failure: the backend cannot do it, or is not ready
    """
    driver = driver_of(run)
    if not isinstance(driver, protocol):
        raise Failure(f"backend {run.environment.name} cannot {what}", detail=detail, status=status)
    return driver


def refuse_incapable(tx: Session, host: str | None, feature: str, what: str) -> None:
    """Refuse at acceptance what the pool `host` has reported that its backend cannot do.

    :param feature: one of the pool's capability `features`; of a pool that has not reported any, steps find out
    :raises BadRequest:
    """
    row = tx.get(pool.Pool, host) if host else None
    features = row.capabilities.get("features") if row else None
    if features is not None and feature not in features:
        raise BadRequest(f"The backend that this lies on cannot {what}.")


def refused(error: BackendError, detail: Code, *, full: Code) -> Failure:
    """The failure that a driver's refusal means; `full` says that it has no space left."""
    match error:
        case NoSpace():
            return Failure(f"no space: {error}", detail=full)
        case ObjectMissing():
            return Failure(f"missing on the backend: {error}", detail=detail)
        case _:
            return Failure(str(error), detail=detail)


@contextmanager
def refused_as(detail: Code, *, full: Code) -> Iterator[None]:
    """Storage calls whose refusal fails the step, as `refused` says."""
    try:
        yield
    except BackendError as error:
        raise refused(error, detail, full=full) from error


def leave_nothing(run: Run, what: str, remove: Callable[[], None]) -> None:
    """Remove what a failed storage call may have left; trouble goes to the log.

    :raises LeaseLost: a successor has the operation or may have it: what is there may be what that has made
    """
    run.check()
    try:
        remove()
    except BackendError:
        LOG.exception("what is left of %s could not be removed", what)


def abandoned(model: type[Moving], remove: Callable[[Any, Run], None]) -> Callable[[Run], None]:
    """`Kind.abandon` of creates: one that a deletion took away leaves nothing, whether or not that has ended by now.

    :param remove: has the driver remove what the operation was making
    """

    def abandon(run: Run) -> None:
        with run.db.read() as tx:
            row = everything().find(tx, model, run.operation.resource_id)
        if isinstance(run.environment, Backend) and (row is None or row.status == FORCE_DELETE.via):
            remove(run.environment.driver, run)

    return abandon
