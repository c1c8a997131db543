"""What is done to shares asynchronously: create, delete, extend, shrink, revert."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from pumice.kernel.db.base import utcnow
from pumice.kernel.db.scope import everything
from pumice.kernel.drivers import BackendError
from pumice.kernel.moves import End
from pumice.kernel.operations.kinds import Done, Failure, Next, Outcome
from pumice.kernel.operations.model import Operation
from pumice.kernel.operations.worker import Run
from pumice.kernel.quotas import refund
from pumice.kernel.scheduling import pool
from pumice.kernel.scheduling.placing import elsewhere, release_growth, reserve_growth, schedule
from pumice.kernel.steps import abandoned, capable, row_of
from pumice.share.access import rules as access
from pumice.share.access.model import AccessRule
from pumice.share.backends import alone, driver_of, refused, refused_as
from pumice.share.drivers.base import FromSnapshots, Path, Reverts, ShareDriver, ShareRef, WouldLoseData
from pumice.share.instances import exports
from pumice.share.locks.placing import drop_of_share
from pumice.share.message_codes import Action, Detail
from pumice.share.projection import DEFERRED
from pumice.share.quotas.resources import growth_charge
from pumice.share.refs import share_ref, snapshot_ref
from pumice.share.shares import affinity, moves
from pumice.share.shares.model import ExportLocation, Share, ShareInstance
from pumice.share.shares.moving import charge_of, kind
from pumice.share.shares.placement import request_of
from pumice.share.snapshots.model import SnapshotInstance
from pumice.share.snapshots.moving import project as project_snapshot

WHOLE = "100%"


def _ref(run: Run, instance: ShareInstance) -> ShareRef:
    with run.db.read() as tx:
        return share_ref(tx, instance)


# Creating


def _schedule(run: Run) -> Outcome:
    """Claim room on the best pool and hand over to its worker."""
    instance = row_of(run, ShareInstance)
    return schedule(run, instance, lambda tx: request_of(tx, run, instance))


def _build(run: Run) -> Outcome:
    instance = row_of(run, ShareInstance)
    driver, ref = driver_of(run), _ref(run, instance)
    try:
        paths = _make(run, ref)
    except BackendError as error:
        bound = run.args["source"] is not None
        refusal = refused(error, Detail.DRIVER_FROM_SNAPSHOT_FAILED if bound else Detail.UNKNOWN)
        return elsewhere(run, instance, ref.size, refusal, bound=bound, remove=lambda: driver.delete_share(ref))

    def also(tx: Session) -> None:
        pool.settle(tx, instance.host or "", ref.size)
        exports.store(tx, instance, paths)

    return Done({"launched_at": utcnow(), "progress": WHOLE}, also)


def _make(run: Run, ref: ShareRef) -> Sequence[Path]:
    """The one storage call that makes the share."""
    source = run.args["source"]
    if source is None:
        return driver_of(run).create_share(ref)
    with run.db.read() as tx:
        snapshot = snapshot_ref(tx, everything().get(tx, SnapshotInstance, source))
    detail = Detail.DRIVER_FROM_SNAPSHOT_FAILED
    driver = capable(run, FromSnapshots, "make shares of snapshots", detail=detail)
    return driver.create_share_from_snapshot(ref, snapshot)


def _forget(driver: ShareDriver, run: Run) -> None:
    driver.delete_share(ShareRef(id=run.operation.resource_id, size=0, proto=""))


# Deleting


def _delete(run: Run) -> Outcome:
    """Remove the share, its exports and its data; then all of its rows at once.

    Snapshots that are left are such as were deleted before it, in deferred deletion: they go first.
    """
    instance = row_of(run, ShareInstance)
    of_instance = SnapshotInstance.share_instance_id == instance.id
    with run.db.read() as tx:
        left = set(tx.scalars(everything().columns(SnapshotInstance, SnapshotInstance.status).where(of_instance)))
    if left - {DEFERRED[0]}:
        raise Failure("snapshots of the share could not be deleted", detail=Detail.UNKNOWN)
    if left:
        return Next(run.operation.step, delay=1.0)
    with refused_as(Detail.UNKNOWN):
        driver_of(run).delete_share(_ref(run, instance))
    return Done(also=lambda tx: remove_rows(tx, instance))


def remove_rows(tx: Session, instance: ShareInstance) -> None:
    """Remove what hangs on a share's only instance, and return what it took of quota and room.

    The instance's own row goes with the end of its move, and then the share's.
    """
    share = everything().get(tx, Share, instance.share_id)
    access.forget(tx, access.SHARE, AccessRule.share_id == share.id)
    drop_of_share(tx, share.id)
    affinity.forget(tx, share)
    tx.execute(delete(ExportLocation).where(ExportLocation.share_instance_id == instance.id))
    if share.status not in DEFERRED:
        refund(tx, share.project_id, charge_of(share))
    if instance.host:
        pool.release(tx, instance.host, share.size, settled=bool(instance.launched_at))


# Extending


def _reserve_growth(run: Run) -> Outcome:
    instance = row_of(run, ShareInstance)
    with run.db.read() as tx:
        growth = everything().get(tx, Share, instance.share_id).growing_gb
    return reserve_growth(run, instance, growth, then=run.args["then"])


def _grow(run: Run) -> Outcome:
    instance = row_of(run, ShareInstance)
    ref = _ref(run, instance)
    with run.db.read() as tx:
        growth = everything().get(tx, Share, instance.share_id).growing_gb
    size = ref.size + growth
    with refused_as(Detail.DRIVER_EXTEND_FAILED):
        driver_of(run).extend_share(ref, size)

    def also(tx: Session) -> None:
        pool.settle(tx, instance.host or "", growth if instance.launched_at else size)
        _resized(tx, instance, size)

    return Done({"launched_at": instance.launched_at or utcnow()}, also)


def _resized(tx: Session, instance: ShareInstance, size: int) -> None:
    tx.execute(update(Share).where(Share.id == instance.share_id).values(size=size, growing_gb=0))


def _shrink_back(tx: Session, operation: Operation) -> None:
    """A failed growth takes no quota and no room."""
    instance = tx.get_one(ShareInstance, operation.resource_id, populate_existing=True)
    share = tx.get_one(Share, instance.share_id, populate_existing=True)
    refund(tx, share.project_id, growth_charge(share.growing_gb, share.share_type_id, share.user_id))
    release_growth(tx, operation, instance)
    tx.execute(update(Share).where(Share.id == share.id).values(growing_gb=0))


# Shrinking


def _shrink(run: Run) -> Outcome:
    instance = row_of(run, ShareInstance)
    ref, size = _ref(run, instance), run.args["size"]
    try:
        driver_of(run).shrink_share(ref, size)
    except WouldLoseData as error:
        status = "shrinking_possible_data_loss_error"
        raise Failure(str(error), detail=Detail.SHRINK_WOULD_LOSE_DATA, status=status) from error
    except BackendError as error:
        raise refused(error, Detail.DRIVER_CANNOT_SHRINK) from error
    return Done(also=lambda tx: _became_smaller(tx, instance, size))


def _became_smaller(tx: Session, instance: ShareInstance, size: int) -> None:
    """Return what a share that is of `size` GiB now takes no more of quota and room."""
    share = everything().get(tx, Share, instance.share_id)
    less = share.size - size
    refund(tx, share.project_id, growth_charge(less, share.share_type_id, share.user_id))
    pool.release(tx, instance.host or "", less, settled=bool(instance.launched_at))
    _resized(tx, instance, size)


# Reverting


def _revert(run: Run) -> Outcome:
    """Set the share back to a snapshot; it is as large then as it was when that was taken."""
    instance = row_of(run, ShareInstance)
    with run.db.read() as tx:
        snapshot = everything().get(tx, SnapshotInstance, run.args["snapshot_instance_id"])
        source, share = snapshot_ref(tx, snapshot), everything().get(tx, Share, instance.share_id)
        ref = share_ref(tx, instance)
    growth = source.size - share.size
    driver = capable(run, Reverts, "revert shares", detail=Detail.DRIVER_REVERT_FAILED, status=End.PREVIOUS)
    with refused_as(Detail.DRIVER_REVERT_FAILED):
        driver.revert_to_snapshot(ref, source)
        if growth > 0:
            driver_of(run).extend_share(ref, source.size)
        elif growth < 0:
            driver_of(run).shrink_share(ref, source.size)

    def also(tx: Session) -> None:
        if growth > 0:
            pool.settle(tx, instance.host or "", growth)
            _resized(tx, instance, source.size)
        else:
            _became_smaller(tx, instance, source.size)
        _snapshot_rests(tx, run.operation)

    return Done(also=also)


def _revert_failed(tx: Session, operation: Operation) -> None:
    _shrink_back(tx, operation)
    _snapshot_rests(tx, operation)


def _snapshot_rests(tx: Session, operation: Operation) -> None:
    mine = update(SnapshotInstance).where(SnapshotInstance.operation_id == operation.id)
    tx.execute(mine.values(status="available", operation_id=None))
    project_snapshot(tx, operation.args["snapshot_id"])


CREATE = kind(
    "create",
    moves.CREATE,
    steps={"run": _schedule, "build": alone(_build)},
    abandon=abandoned(ShareInstance, _forget),
    action=Action.CREATE,
    event="share.create",
)
DELETE = kind("delete", moves.DELETE, steps={"run": alone(_delete)}, action=Action.DELETE, event="share.delete")
DEFERRED_DELETE = kind("deferred_delete", moves.DEFERRED_DELETE, steps={"run": alone(_delete)}, event="share.delete")
FORCE_DELETE = kind(
    "force_delete", moves.FORCE_DELETE, steps={"run": alone(_delete)}, action=Action.DELETE, event="share.delete"
)
EXTEND = kind(
    "extend",
    moves.EXTEND,
    steps={"run": _reserve_growth, "grow": alone(_grow)},
    undo=_shrink_back,
    action=Action.EXTEND,
    event="share.extend",
)
SHRINK = kind("shrink", moves.SHRINK, steps={"run": alone(_shrink)}, action=Action.SHRINK, event="share.shrink")
REVERT = kind(
    "revert",
    moves.REVERT,
    steps={"run": _reserve_growth, "revert": alone(_revert)},
    undo=_revert_failed,
    action=Action.REVERT,
    event="share.revert",
)

KINDS = (CREATE, DELETE, DEFERRED_DELETE, FORCE_DELETE, EXTEND, SHRINK, REVERT)
