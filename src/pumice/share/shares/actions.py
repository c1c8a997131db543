"""Actions of shares that are about the share itself: extend, shrink, revert, and statuses that administrators set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from sqlalchemy import and_
from sqlalchemy.orm import Session

from pumice.kernel import moves
from pumice.kernel.api.request import Reply
from pumice.kernel.api.shapes import Shape
from pumice.kernel.api.values import one_of
from pumice.kernel.db.base import new_id
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import BadRequest, Conflict, Forbidden, OverLimit
from pumice.kernel.moves import Guard
from pumice.kernel.scheduling.placing import SCHEDULER, is_thick
from pumice.kernel.types import specs_of
from pumice.share.projection import DEFERRED
from pumice.share.quotas.resources import growth_charge, size_bounds
from pumice.share.shares import deletion, operations, rules
from pumice.share.shares.model import Share, ShareInstance
from pumice.share.shares.moves import STATUSES, TASKS
from pumice.share.shares.moving import active, begin, project
from pumice.share.snapshots.model import ShareSnapshot, SnapshotInstance
from pumice.share.snapshots.moving import present
from pumice.share.snapshots.moving import project as project_snapshot
from pumice.share.types import specs as type_specs
from pumice.share.types.model import ShareType

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


class ResetStatus(Shape):
    status: Annotated[str, one_of(*STATUSES)]


class ResetTaskState(Shape):
    task_state: Annotated[str, one_of(*TASKS)] | None


def _charge_growth(tx: Session, req: Request, share: Share, growth: int) -> None:
    """:raises Forbidden: the quota has no room; of a growing share that is what clients are told"""
    try:
        req.service.quotas.charge(tx, share.project_id, growth_charge(growth, share.share_type_id, share.user_id))
    except OverLimit as error:
        raise Forbidden(error.message) from error


def extend(req: Request, share: Share) -> None:
    """extend: the growth is charged with the acceptance; room and storage follow."""
    target = {"project_id": share.project_id, "user_id": share.user_id}
    force = req.body.force
    if force:
        req.authorize("share:force_extend", target)
    beyond = req.allowed("share:extend_beyond_max_share_size_spec", target)
    size, operation_id = req.body.new_size, new_id()

    def work(tx: Session) -> None:
        row = moves.lock(tx, Share, share.id)
        rules.refuse_recycled(row)
        rules.refuse_busy(row)
        if size <= row.size:
            raise BadRequest(f"new_size {size} is refused: the share has {row.size} GiB, and it can only grow.")
        specs = specs_of(tx, ShareType, row.share_type_id)
        type_specs.check_most(specs, size, type_specs.MAX_EXTEND_SIZE if beyond else type_specs.MAX_SIZE)
        req.service.quotas.check_size(tx, row.project_id, size_bounds(row.share_type_id, row.user_id), size)
        growth = size - row.size
        args = {"thick": is_thick(specs), "force": force, "then": "grow"}
        begin(tx, req, operations.EXTEND, row, id=operation_id, queue=SCHEDULER, guards=[rules.PLACED], args=args)
        _charge_growth(tx, req, row, growth)
        moves.touch(tx, Share, row.id, growing_gb=growth)

    req.service.db.write(work)


def shrink(req: Request, share: Share) -> None:
    size, operation_id = req.body.new_size, new_id()

    def work(tx: Session) -> None:
        row = moves.lock(tx, Share, share.id)
        rules.refuse_recycled(row)
        rules.refuse_busy(row)
        if size >= row.size:
            raise BadRequest(
                f"new_size {size} is refused: the share has {row.size} GiB, and it can only become smaller."
            )
        type_specs.check_least(specs_of(tx, ShareType, row.share_type_id), size)
        begin(tx, req, operations.SHRINK, row, id=operation_id, guards=[rules.PLACED], args={"size": size})

    req.service.db.write(work)


# Reverting


def revert(req: Request, share: Share) -> None:
    """revert: the share's data becomes that of its newest snapshot."""
    operation_id, snapshot_id = new_id(), req.body.snapshot_id

    def work(tx: Session) -> None:
        row = moves.lock(tx, Share, share.id)
        rules.refuse_recycled(row)
        if not row.revert_to_snapshot_support:
            raise BadRequest(f"Share {row.id} cannot be reverted: its type has no revert_to_snapshot_support.")
        snapshot = _snapshot(tx, row, snapshot_id)
        rules.refuse_busy(row, Conflict)
        instance = _hold(tx, snapshot, operation_id)
        growth = max(0, snapshot.size - row.size)
        settled = Guard(
            ShareInstance.access_rules_status == "active",
            "The access rules of the share are not all active: a share is reverted when they are.",
            Conflict,
        )
        args = {
            "snapshot_id": snapshot.id,
            "snapshot_instance_id": instance.id,
            "thick": is_thick(specs_of(tx, ShareType, row.share_type_id)),
            "then": "revert",
        }
        guards = [settled, rules.NOT_READ]
        begin(tx, req, operations.REVERT, row, id=operation_id, queue=SCHEDULER, guards=guards, args=args)
        if growth:
            _charge_growth(tx, req, row, growth)
        moves.touch(tx, Share, row.id, growing_gb=growth)

    req.service.db.write(work)


def _snapshot(tx: Session, share: Share, id: str) -> ShareSnapshot:
    snapshot = everything().find(tx, ShareSnapshot, id)
    if snapshot is None or snapshot.share_id != share.id or snapshot.status in DEFERRED:
        raise BadRequest(f"snapshot_id {id} is refused: share {share.id} has no such snapshot.")
    if share.status != "available":
        raise Conflict(f"Share {share.id} has status {share.status}: revert is allowed only in status available.")
    if snapshot.status != "available":
        raise Conflict(f"Snapshot {id} has status {snapshot.status}: it must be available.")
    newest_first = (ShareSnapshot.created_at.desc(), ShareSnapshot.id.desc())
    of_share = everything().select(ShareSnapshot).where(ShareSnapshot.share_id == share.id)
    of_share = of_share.where(ShareSnapshot.status.not_in(DEFERRED))
    newest = tx.scalars(of_share.order_by(*newest_first).limit(1)).one()
    if newest.id != id:
        raise Conflict(f"snapshot_id {id} is refused: a share is reverted to its newest snapshot, {newest.id}.")
    return snapshot


def _hold(tx: Session, snapshot: ShareSnapshot, operation_id: str) -> SnapshotInstance:
    """Have the snapshot belong to the revert until that has ended."""
    row = present(tx, snapshot.id)
    usable = Guard(
        and_(SnapshotInstance.status == "available", SnapshotInstance.operation_id.is_(None)),
        f"Snapshot {snapshot.id} is in use by another request.",
        Conflict,
    )
    moves.touch(tx, SnapshotInstance, row.id, guards=[usable], status="restoring", operation_id=operation_id)
    project_snapshot(tx, snapshot.id)
    return row


# For administrators


def force_delete(req: Request, share: Share) -> None:
    deletion.delete(req, share, force=True)


def soft_delete(req: Request, share: Share) -> None:
    deletion.soft_delete(req, share)


def restore(req: Request, share: Share) -> Reply | None:
    return deletion.restore(req, share)


def reset_status(req: Request, share: Share) -> None:
    """The share rests in what was set until the next move; an operation that had it has no say any more."""

    def work(tx: Session) -> None:
        row = moves.lock(tx, Share, share.id)
        rules.refuse_recycled(row)
        set_status(tx, req, active(tx, row.id), req.body.status)

    req.service.db.write(work)


def set_status(tx: Session, req: Request, instance: ShareInstance, status: str) -> None:
    """Take an instance from the operation that has it, and let it and its share rest in a status."""
    req.service.journal.reset(tx, ShareInstance, instance.id, status)
    project(tx, instance.share_id)


def reset_task_state(req: Request, share: Share) -> None:
    def work(tx: Session) -> None:
        rules.refuse_recycled(moves.lock(tx, Share, share.id))
        moves.touch(tx, Share, share.id, task_state=req.body.task_state)

    req.service.db.write(work)
