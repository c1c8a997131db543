"""How snapshots move: their instances do, by operations, and the snapshot shows what its instance is.

Whoever begins to change a snapshot locks its share's row first, as whoever changes the share does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.kernel.auth.context import RequestContext
from pumice.kernel.db.base import new_id
from pumice.kernel.db.scope import everything
from pumice.kernel.operations.holds import not_read
from pumice.kernel.operations.journal import Journal
from pumice.kernel.operations.kinds import Kind
from pumice.share.backends import queue_of
from pumice.share.projection import Projection
from pumice.share.quotas.resources import snapshot_charge
from pumice.share.shares.model import Share, ShareInstance
from pumice.share.snapshots.model import ShareSnapshot, SnapshotInstance

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

NOT_READ = not_read(SnapshotInstance.snapshot_id, "snapshot")


def charge_of(snapshot: ShareSnapshot) -> dict[str, int]:
    """What a snapshot takes of its project's quotas."""
    return snapshot_charge(snapshot.size, snapshot.share_type_id, snapshot.user_id)


SNAPSHOTS = Projection(
    parent=ShareSnapshot,
    instance=SnapshotInstance,
    key="snapshot_id",
    shown=("status", "provider_location"),
    name="snapshot",
    resource_type="SHARE_SNAPSHOT",
    charge=charge_of,
)
instance_of, present, project, kind = SNAPSHOTS.active, SNAPSHOTS.present, SNAPSHOTS.project, SNAPSHOTS.kind


def arguments(instance: SnapshotInstance) -> dict[str, Any]:
    """`instance_id` is the share instance's: its lock is that of its snapshots too (`share.backends.alone`)."""
    return {
        "snapshot_id": instance.snapshot_id,
        "share_id": instance.share_id,
        "instance_id": instance.share_instance_id,
    }


def add(
    tx: Session,
    req: Request,
    kind: Kind,
    share: Share,
    source: ShareInstance,
    *,
    ids: tuple[str, str, str],
    provider_location: str | None = None,
    args: Mapping[str, Any] | None = None,
    **values: Any,
) -> ShareSnapshot:
    """Add a snapshot of a share that is locked, and the operation that makes it.

    :param ids: of the snapshot, its instance and the operation
    """
    assert kind.move is not None
    assert kind.move.via is not None
    snapshot_id, instance_id, operation_id = ids
    common = {
        "project_id": share.project_id,
        "user_id": req.context.user_id,
        "share_id": share.id,
        "status": kind.move.via,
        "provider_location": provider_location,
    }
    snapshot = ShareSnapshot(
        id=snapshot_id, share_type_id=share.share_type_id, size=share.size, proto=share.proto, **common, **values
    )
    instance = SnapshotInstance(
        id=instance_id,
        snapshot_id=snapshot_id,
        share_instance_id=source.id,
        operation_id=operation_id,
        progress="0%",
        **common,
    )
    # In this order: no relationship tells SQLAlchemy that the one refers to the other.
    for row in (snapshot, instance):
        tx.add(row)
        tx.flush()
    queue, args = queue_of(source.backend), arguments(instance) | dict(args or {})
    req.service.journal.submit(tx, kind, req.context, instance, id=operation_id, queue=queue, args=args)
    req.reply_headers["X-Operation-Id"] = operation_id
    return snapshot


def begin(tx: Session, req: Request, kind: Kind, snapshot_id: str) -> None:
    """`begin_as` the request's caller, who is told the operation's id."""
    operation_id = new_id()
    begin_as(tx, req.service.journal, req.context, kind, snapshot_id, id=operation_id)
    req.reply_headers["X-Operation-Id"] = operation_id


def begin_as(tx: Session, journal: Journal, context: RequestContext, kind: Kind, snapshot_id: str, *, id: str) -> None:
    """Begin the kind's move on the instance of a snapshot whose share is locked.

    :raises ApiError: the status refuses, somebody reads the snapshot, or it has gone: its deletion ends without a look
        at the share
    """
    instance = present(tx, snapshot_id)
    source = everything().get(tx, ShareInstance, instance.share_instance_id)
    journal.begin(
        tx,
        kind,
        context,
        id=id,
        queue=queue_of(source.backend),
        resource_id=instance.id,
        guards=[NOT_READ],
        args=arguments(instance),
    )
    project(tx, snapshot_id)
