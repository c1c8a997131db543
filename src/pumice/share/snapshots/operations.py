"""What is done to snapshots asynchronously: create, delete, manage, unmanage."""

from __future__ import annotations

from sqlalchemy import delete
from sqlalchemy.orm import Session

from pumice.kernel.db.scope import everything
from pumice.kernel.operations.kinds import Done, Outcome
from pumice.kernel.operations.worker import Run
from pumice.kernel.quotas import adjust, refund
from pumice.kernel.steps import abandoned, capable, row_of
from pumice.share.access import rules as access
from pumice.share.access.model import SnapshotAccessRule
from pumice.share.backends import alone, driver_of, refused_as
from pumice.share.drivers.base import ShareRef, SnapshotRef, Snapshots
from pumice.share.message_codes import Action, Detail
from pumice.share.projection import DEFERRED
from pumice.share.refs import snapshot_ref
from pumice.share.shares.manage_operations import manager_of
from pumice.share.shares.model import Share
from pumice.share.snapshots import exports, moves
from pumice.share.snapshots.model import ShareSnapshot, SnapshotExportLocation, SnapshotInstance
from pumice.share.snapshots.moving import charge_of, kind

WHOLE = "100%"


def _found(run: Run) -> tuple[SnapshotInstance, SnapshotRef, Share]:
    """:raises Superseded: the snapshot is gone"""
    instance = row_of(run, SnapshotInstance)
    with run.db.read() as tx:
        return instance, snapshot_ref(tx, instance), everything().get(tx, Share, instance.share_id)


def _create(run: Run) -> Outcome:
    instance, ref, share = _found(run)
    driver = capable(run, Snapshots, "take snapshots")
    with refused_as(Detail.UNKNOWN):
        location = driver.create_snapshot(ref)
        paths = exports.export(run.db, driver_of(run), ref, share)
    values = {"provider_location": location, "progress": WHOLE}
    return Done(values, also=lambda tx: exports.store(tx, instance, paths))


def _forget(driver: Snapshots, run: Run) -> None:
    share = ShareRef(id=run.args["instance_id"], size=0, proto="")
    driver.delete_snapshot(SnapshotRef(id=run.operation.resource_id, share=share, size=0))


def _delete(run: Run) -> Outcome:
    instance, ref, _share = _found(run)
    driver = driver_of(run)
    with refused_as(Detail.UNKNOWN):
        if isinstance(driver, Snapshots):  # another has none: there is nothing but the row
            driver.delete_snapshot(ref)
    return Done(also=lambda tx: remove_rows(tx, instance))


def remove_rows(tx: Session, instance: SnapshotInstance) -> None:
    """Remove what hangs on a snapshot's only instance, and return what it took of quota.

    The instance's own row goes with the end of its move, and then the snapshot's.
    """
    snapshot = everything().get(tx, ShareSnapshot, instance.snapshot_id)
    access.forget(tx, access.SNAPSHOT, SnapshotAccessRule.snapshot_id == snapshot.id)
    tx.execute(delete(SnapshotExportLocation).where(SnapshotExportLocation.snapshot_instance_id == instance.id))
    if snapshot.status not in DEFERRED:
        refund(tx, snapshot.project_id, charge_of(snapshot))


def _manage(run: Run) -> Outcome:
    instance, ref, share = _found(run)
    driver = manager_of(run)
    with refused_as(Detail.UNKNOWN):
        size = driver.manage_snapshot(ref, instance.provider_location or "", run.args["driver_options"])
        paths = exports.export(run.db, driver_of(run), ref, share)

    def also(tx: Session) -> None:
        exports.store(tx, instance, paths)
        _resize(tx, instance.snapshot_id, size)

    return Done({"progress": WHOLE}, also)


def _resize(tx: Session, snapshot_id: str, size: int) -> None:
    """Let a snapshot count as large as it turned out to be; it is there, so no limit refuses it."""
    snapshot = everything().get(tx, ShareSnapshot, snapshot_id)
    before = charge_of(snapshot)
    snapshot.size = size
    tx.flush()
    adjust(tx, snapshot.project_id, {key: now - before[key] for key, now in charge_of(snapshot).items()})


def _unmanage(run: Run) -> Outcome:
    instance, ref, _share = _found(run)
    driver = manager_of(run)
    with refused_as(Detail.UNKNOWN):
        driver.unmanage_snapshot(ref)
    return Done(also=lambda tx: remove_rows(tx, instance))


CREATE = kind(
    "create",
    moves.CREATE,
    steps={"run": alone(_create)},
    abandon=abandoned(SnapshotInstance, _forget),
    action=Action.CREATE,
)
DELETE = kind("delete", moves.DELETE, steps={"run": alone(_delete)}, action=Action.DELETE)
DEFERRED_DELETE = kind("deferred_delete", moves.DEFERRED_DELETE, steps={"run": alone(_delete)})
FORCE_DELETE = kind("force_delete", moves.FORCE_DELETE, steps={"run": alone(_delete)}, action=Action.DELETE)
MANAGE = kind("manage", moves.MANAGE, steps={"run": alone(_manage)}, action=Action.CREATE)
UNMANAGE = kind("unmanage", moves.UNMANAGE, steps={"run": alone(_unmanage)})

KINDS = (CREATE, DELETE, DEFERRED_DELETE, FORCE_DELETE, MANAGE, UNMANAGE)
