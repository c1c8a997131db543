"""Deferred deletion: what is gone for its users is deleted again where that has failed."""

from __future__ import annotations

import logging
from functools import partial

from sqlalchemy.orm import Session

from pumice.kernel import moves
from pumice.kernel.auth.context import RequestContext
from pumice.kernel.db.base import new_id
from pumice.kernel.db.engine import Database
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import ApiError
from pumice.kernel.operations.journal import Journal
from pumice.share.shares import moving as share_moving
from pumice.share.shares import operations as share_operations
from pumice.share.shares.model import Share
from pumice.share.shares.moves import DEFERRED_DELETE
from pumice.share.snapshots import moving as snapshot_moving
from pumice.share.snapshots import operations as snapshot_operations
from pumice.share.snapshots.model import ShareSnapshot

LOG = logging.getLogger(__name__)

CONTEXT = RequestContext(is_admin=True)


def retry(db: Database, journal: Journal) -> None:
    """Begin the deferred deletions anew that have failed. Anybody may do so at any time."""
    for model, begin in ((ShareSnapshot, _begin_snapshot), (Share, _begin_share)):
        with db.read() as tx:
            ids = list(tx.scalars(everything().columns(model, model.id).where(model.status == DEFERRED_DELETE.failed)))
        for id in ids:
            try:
                db.write(partial(begin, journal=journal, id=id, operation_id=new_id()))
            except ApiError as error:  # somebody else has begun it, or it is gone
                LOG.info("%s %s is not deleted again: %s", model.__label__, id, error.message)


def _begin_share(tx: Session, journal: Journal, id: str, operation_id: str) -> None:
    share = moves.lock(tx, Share, id)
    share_moving.begin_as(tx, journal, CONTEXT, share_operations.DEFERRED_DELETE, share, id=operation_id)


def _begin_snapshot(tx: Session, journal: Journal, id: str, operation_id: str) -> None:
    moves.lock(tx, Share, everything().get(tx, ShareSnapshot, id).share_id)
    snapshot_moving.begin_as(tx, journal, CONTEXT, snapshot_operations.DEFERRED_DELETE, id, id=operation_id)
