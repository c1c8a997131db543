"""Snapshots: create, update, delete and what administrators do with them (section 9 of the API)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.kernel import moves
from pumice.kernel.db.base import new_id
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import BadRequest, Conflict, Forbidden, Unprocessable
from pumice.share.quotas.resources import snapshot_charge
from pumice.share.shares import rules
from pumice.share.shares.model import Share
from pumice.share.shares.moving import active
from pumice.share.snapshots import operations
from pumice.share.snapshots.model import ShareSnapshot, SnapshotInstance
from pumice.share.snapshots.moving import add, begin, project
from pumice.share.snapshots.shapes import ManagedSnapshot, NewSnapshot, SnapshotDetail

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request
    from pumice.kernel.operations.kinds import Kind

Asked = NewSnapshot | ManagedSnapshot
Ids = tuple[str, str, str]

CREATE_RULE, MANAGE_RULE = "share:create_snapshot", "share_snapshot:manage_snapshot"


def create(req: Request) -> Any:
    asked: NewSnapshot = req.body.snapshot
    ids = (new_id(), new_id(), new_id())

    def work(tx: Session) -> ShareSnapshot:
        share = _parent(tx, req, asked.share_id, CREATE_RULE)
        if share.status != "available":
            raise BadRequest(f"Share {share.id} has status {share.status}: snapshots are taken in status available.")
        return _add(tx, req, operations.CREATE, share, asked, ids=ids)

    return req.once(work, partial(_shown, req))


def _shown(req: Request, snapshot: ShareSnapshot) -> dict[str, Any]:
    return {"snapshot": req.view(SnapshotDetail, snapshot)}


def _parent(tx: Session, req: Request, share_id: str, rule: str) -> Share:
    """The share of a snapshot that is to be, locked.

    :raises ApiError: the caller does not see it, or it can have no snapshot now
    """
    found = req.get(tx, Share, share_id)
    req.authorize(rule, {"project_id": found.project_id, "user_id": found.user_id})
    share = moves.lock(tx, Share, share_id)
    if not share.snapshot_support:
        raise Unprocessable(f"Share {share.id} does not support snapshots: its share type has no snapshot_support.")
    rules.refuse_recycled(share)
    rules.refuse_busy(share)
    return share


def _add(tx: Session, req: Request, kind: Kind, share: Share, asked: Asked, *, ids: Ids, **more: Any) -> ShareSnapshot:
    charge = snapshot_charge(share.size, share.share_type_id, req.context.user_id)
    req.service.quotas.charge(tx, share.project_id, charge)
    # Whoever meant to do something to the share as one without this snapshot meets this change.
    moves.touch(tx, Share, share.id)
    return add(
        tx,
        req,
        kind,
        share,
        active(tx, share.id),
        ids=ids,
        name=asked.name,
        description=asked.description,
        meta=asked.metadata or {},
        **more,
    )


def manage(req: Request) -> Any:
    """Take over a snapshot that the backend has already."""
    asked: ManagedSnapshot = req.body.snapshot
    share_id, location = (_needed(asked, name) for name in ("share_id", "provider_location"))
    ids = (new_id(), new_id(), new_id())

    def work(tx: Session) -> ShareSnapshot:
        share = _parent(tx, req, share_id, MANAGE_RULE)
        known = everything().columns(SnapshotInstance, SnapshotInstance.id)
        same = (SnapshotInstance.share_id == share_id, SnapshotInstance.provider_location == location)
        if tx.scalar(known.where(*same).limit(1)) is not None:
            raise Conflict(f"A snapshot of share {share_id} has the provider location {location} already.")
        args = {"driver_options": asked.driver_options}
        return _add(tx, req, operations.MANAGE, share, asked, ids=ids, provider_location=location, args=args)

    return req.once(work, partial(_shown, req))


def _needed(asked: ManagedSnapshot, name: str) -> str:
    value = getattr(asked, name)
    if not isinstance(value, str) or not value.strip():
        raise Unprocessable(f"snapshot.{name} is needed: text that is not empty is allowed.")
    return value


def update(req: Request, snapshot: ShareSnapshot) -> dict[str, Any]:
    changes = req.body.snapshot.given()
    return _shown(req, req.service.db.write(lambda tx: moves.touch(tx, ShareSnapshot, snapshot.id, **changes)))


def delete(req: Request, snapshot: ShareSnapshot) -> None:
    deferred = req.service.conf.is_deferred_deletion_enabled
    _begin(req, snapshot, operations.DEFERRED_DELETE if deferred else operations.DELETE)


def force_delete(req: Request, snapshot: ShareSnapshot) -> None:
    _begin(req, snapshot, operations.FORCE_DELETE)


def unmanage(req: Request, snapshot: ShareSnapshot) -> None:
    """Forget a snapshot that the backend keeps."""
    _begin(req, snapshot, operations.UNMANAGE)


def _begin(req: Request, snapshot: ShareSnapshot, kind: Kind) -> None:
    def work(tx: Session) -> None:
        share = moves.lock(tx, Share, snapshot.share_id)
        if kind is operations.UNMANAGE and share.is_soft_deleted:
            raise Forbidden(f"Share {share.id} is in the recycle bin: restore it first.")
        begin(tx, req, kind, req.get(tx, ShareSnapshot, snapshot.id).id)
        moves.touch(tx, Share, share.id)

    req.service.db.write(work)


def reset_status(req: Request, snapshot: ShareSnapshot) -> None:
    """The snapshot rests in what was set; an operation that had it has no say any more."""

    def work(tx: Session) -> None:
        moves.lock(tx, Share, snapshot.share_id)
        for instance in tx.scalars(everything().select(SnapshotInstance).where(of_snapshot)).all():
            req.service.journal.reset(tx, SnapshotInstance, instance.id, req.body.status)
        project(tx, snapshot.id)

    of_snapshot = SnapshotInstance.snapshot_id == snapshot.id
    req.service.db.write(work)


def reset_instance_status(req: Request, instance: SnapshotInstance) -> None:
    def work(tx: Session) -> None:
        moves.lock(tx, Share, instance.share_id)
        req.service.journal.reset(tx, SnapshotInstance, instance.id, req.body.status)
        project(tx, instance.snapshot_id)

    req.service.db.write(work)
