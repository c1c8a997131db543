"""How shares move: their instances do, by operations, and the share shows what its active instance is.

Whoever begins to change a share locks its row first (`kernel.moves.lock`), so that what it sees of the share, its
snapshots and its rules holds until its transaction ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.kernel.auth.context import RequestContext
from pumice.kernel.moves import Guard
from pumice.kernel.operations.journal import Journal
from pumice.kernel.operations.kinds import Kind
from pumice.share.backends import queue_of
from pumice.share.projection import Projection
from pumice.share.quotas.resources import share_charge
from pumice.share.shares.model import Share, ShareInstance
from pumice.share.shares.notifications import describe

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


def charge_of(share: Share) -> dict[str, int]:
    """What a share that does not grow takes of its project's quotas."""
    return share_charge(share.size, share.share_type_id, share.user_id)


SHARES = Projection(
    parent=Share,
    instance=ShareInstance,
    key="share_id",
    shown=("status", "progress", "host", "availability_zone"),
    name="share",
    resource_type="SHARE",
    charge=charge_of,
)
project = SHARES.project
kind = partial(SHARES.kind, describe=describe)


def active(tx: Session, share_id: str) -> ShareInstance:
    """The instance that clients use; a share always has one."""
    instance = SHARES.active(tx, share_id)
    assert instance is not None
    return instance


def begin(tx: Session, req: Request, kind: Kind, share: Share, *, id: str, **more: Any) -> Share:
    """`begin_as` the request's caller, who is told the operation's id."""
    req.reply_headers["X-Operation-Id"] = id
    return begin_as(tx, req.service.journal, req.context, kind, share, id=id, **more)


def begin_as(
    tx: Session,
    journal: Journal,
    context: RequestContext,
    kind: Kind,
    share: Share,
    *,
    id: str,
    queue: str = "",
    args: Mapping[str, Any] | None = None,
    guards: Sequence[Guard] = (),
    step: str = "run",
    **values: Any,
) -> Share:
    """Begin the kind's move on the active instance of a share that is locked; the share as it is then.

    :param queue: instead of the instance's backend's
    :param values: columns of the instance to set in the same statement
    :raises ApiError: the status or a guard refuses
    """
    assert kind.move is not None
    allowed = kind.move.start
    if allowed is not None and share.status not in allowed:
        raise kind.move.refusal(
            f"Share {share.id} has status {share.status}: "
            f"{kind.move.name} is allowed only in status {', '.join(sorted(allowed))}."
        )
    instance = active(tx, share.id)
    journal.begin(
        tx,
        kind,
        context,
        id=id,
        queue=queue or queue_of(instance.backend),
        resource_id=instance.id,
        guards=guards,
        args={"share_id": share.id, **(args or {})},
        step=step,
        **values,
    )
    project(tx, share.id)
    tx.refresh(share)
    return share
