"""Accepting that a share goes: at once, into the recycle bin and out of it again, and when its time there is over."""

from __future__ import annotations

import datetime
import logging
from typing import TYPE_CHECKING

from sqlalchemy.orm import Session

from pumice.kernel import moves
from pumice.kernel.api.request import Reply
from pumice.kernel.auth.context import RequestContext
from pumice.kernel.db.base import new_id, utcnow
from pumice.kernel.db.engine import Database
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import ApiError, Forbidden
from pumice.kernel.operations.journal import Journal
from pumice.kernel.operations.kinds import Kind
from pumice.share.locks.placing import unlocked
from pumice.share.shares import operations, rules
from pumice.share.shares.model import Share, ShareInstance
from pumice.share.shares.moves import DELETABLE
from pumice.share.shares.moving import active, begin_as, project

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

LOG = logging.getLogger(__name__)

ALWAYS = (rules.NO_SNAPSHOTS, rules.NOT_READ, unlocked(ShareInstance.share_id))


def delete(req: Request, share: Share, *, force: bool = False) -> None:
    """Have a share deleted, from any status when `force`."""
    operation_id = new_id()

    def work(tx: Session) -> bool:
        row = moves.lock(tx, Share, share.id)
        if not force:
            rules.refuse_busy(row)
        return _go(tx, req.service.journal, req.context, row, chosen, id=operation_id)

    deferred = req.service.conf.is_deferred_deletion_enabled
    kind = operations.DEFERRED_DELETE if deferred else operations.DELETE
    chosen = operations.FORCE_DELETE if force else kind
    if req.service.db.write(work):
        req.reply_headers["X-Operation-Id"] = operation_id


def _go(tx: Session, journal: Journal, context: RequestContext, share: Share, kind: Kind, *, id: str) -> bool:
    """Have a share that is locked deleted; False: it is gone.

    One that was never placed has nothing on a backend: it goes at once.
    """
    instance = active(tx, share.id)
    if instance.host is not None:
        begin_as(tx, journal, context, kind, share, id=id, guards=ALWAYS)
        return True
    journal.remove(tx, kind, instance, operations.remove_rows, ALWAYS)
    project(tx, instance.share_id)
    return False


def soft_delete(req: Request, share: Share) -> None:
    """Put a share into the recycle bin: it stays as it is, and nothing is done to it until it is restored."""
    seconds = req.service.conf.soft_deleted_share_retention_time

    def work(tx: Session) -> None:
        row = moves.lock(tx, Share, share.id)
        if row.is_soft_deleted:
            raise Forbidden(f"Share {row.id} is in the recycle bin already.")
        if row.status not in DELETABLE:
            allowed = ", ".join(sorted(DELETABLE))
            raise Forbidden(f"Share {row.id} has status {row.status}: soft delete is allowed only in status {allowed}.")
        rules.refuse_busy(row, Forbidden)
        moves.touch(tx, ShareInstance, active(tx, row.id).id, guards=ALWAYS)
        until = utcnow() + datetime.timedelta(seconds=seconds)
        moves.touch(tx, Share, row.id, is_soft_deleted=True, scheduled_to_be_deleted_at=until)

    req.service.db.write(work)


def restore(req: Request, share: Share) -> Reply | None:
    """Take a share out of the recycle bin."""

    def work(tx: Session) -> bool:
        row = moves.lock(tx, Share, share.id)
        if not row.is_soft_deleted:
            return False
        if row.status in ("deleting", "error_deleting"):
            raise Forbidden(f"Share {row.id} has status {row.status}: it cannot be restored any more.")
        moves.touch(tx, Share, row.id, is_soft_deleted=False, scheduled_to_be_deleted_at=None)
        return True

    return None if req.service.db.write(work) else Reply(status=200)


def expire(db: Database, journal: Journal) -> int:
    """Have shares deleted whose time in the recycle bin is over; the number of those. Anybody may do so at any time."""
    over = (Share.is_soft_deleted, Share.scheduled_to_be_deleted_at <= utcnow(), Share.status.in_(DELETABLE))
    with db.read() as tx:
        ids = list(tx.scalars(everything().columns(Share, Share.id).where(*over)))
    return sum(_expire(db, journal, id) for id in ids)


def _expire(db: Database, journal: Journal, share_id: str) -> bool:
    operation_id = new_id()

    def work(tx: Session) -> bool:
        row = moves.lock(tx, Share, share_id)
        if not row.is_soft_deleted:
            return False
        _go(tx, journal, RequestContext(is_admin=True), row, operations.DELETE, id=operation_id)
        return True

    try:
        return db.write(work)
    except ApiError as error:
        LOG.warning("share %s stays in the recycle bin: %s", share_id, error.message)
        return False
