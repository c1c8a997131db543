"""Seeing that a share is there and exported as its rules say, because an administrator asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.orm import Session

from pumice.kernel import moves
from pumice.kernel.db.scope import everything
from pumice.kernel.moves import Move
from pumice.kernel.operations.kinds import Done, Outcome
from pumice.kernel.operations.model import LIVE, Operation
from pumice.kernel.operations.worker import Run
from pumice.share.backends import alone, driver_of, refused_as
from pumice.share.instances import exports
from pumice.share.message_codes import Action, Detail
from pumice.share.shares.model import Share, ShareInstance
from pumice.share.shares.moving import kind, project

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

_AVAILABLE = frozenset({"available"})
# A share that could not be made sure of is as usable as it was, and looked at again: its status does not tell of it.


def _ensure(run: Run) -> Outcome:
    with refused_as(Detail.UNKNOWN):
        exports.ensure(run.db, driver_of(run), run.operation.resource_id)
    return Done()


ENSURE = kind(
    "ensure",
    Move(name="ensure", start=_AVAILABLE, via="ensuring", done="available", failed="available"),
    steps={"run": alone(_ensure)},
    action=Action.UPDATE,
)
ENSURE_QUIETLY = kind(
    "ensure_quietly",
    Move(name="ensure", start=_AVAILABLE, via=None, done="available", failed="available"),
    steps={"run": alone(_ensure)},
)

KINDS = (ENSURE, ENSURE_QUIETLY)


def begin(tx: Session, req: Request, instance_id: str, queue: str, *, id: str, shown: bool) -> None:
    """Have an instance seen to.

    :param id: of the operation
    :param shown: whether the share's status tells of it
    :raises ApiError: it is being changed, or gone
    """
    found = everything().get(tx, ShareInstance, instance_id)
    moves.lock(tx, Share, found.share_id)
    args = {"share_id": found.share_id}
    chosen = ENSURE if shown else ENSURE_QUIETLY
    req.service.journal.begin(tx, chosen, req.context, id=id, queue=queue, resource_id=instance_id, args=args)
    project(tx, found.share_id)


def busy_queues(tx: Session) -> set[str]:
    """Queues of the backends that are seeing to their shares."""
    names = [one.name for one in KINDS]
    live = everything().columns(Operation, Operation.queue).where(Operation.kind.in_(names), Operation.state.in_(LIVE))
    return set(tx.scalars(live.distinct()))
