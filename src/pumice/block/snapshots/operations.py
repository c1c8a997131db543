"""What is done to snapshots asynchronously."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from pumice.block.backends import driver_of, refused_as, snapshot_ref
from pumice.block.drivers.base import SnapshotRef, Snapshots, VolumeRef
from pumice.block.message_codes import Action, Detail
from pumice.block.quotas.resources import snapshot_charge
from pumice.block.snapshots import moves
from pumice.block.snapshots.model import Snapshot
from pumice.block.snapshots.notifications import describe
from pumice.block.volumes.model import Volume
from pumice.kernel.db.scope import everything
from pumice.kernel.moves import Move
from pumice.kernel.operations.kinds import Done, Kind, Outcome
from pumice.kernel.operations.worker import Run
from pumice.kernel.quotas import refund
from pumice.kernel.steps import abandoned, capable, row_of


def _create(run: Run) -> Outcome:
    ref = _ref(run)
    driver = capable(run, Snapshots, "take snapshots", detail=Detail.DRIVER_SNAPSHOT_FAILED)
    with refused_as(Detail.DRIVER_SNAPSHOT_FAILED):
        driver.create_snapshot(ref)
    return Done({"progress": "100%"})


def _forget(driver: Snapshots, run: Run) -> None:
    volume = VolumeRef(id=run.args["volume_id"], size=0, pool="")
    driver.delete_snapshot(SnapshotRef(id=run.operation.resource_id, volume=volume, size=0))


def _delete(run: Run) -> Outcome:
    ref = _ref(run)
    driver = driver_of(run)
    with refused_as(Detail.DRIVER_DELETE_SNAPSHOT_FAILED):
        if isinstance(driver, Snapshots):  # another has none: there is nothing but the row
            driver.delete_snapshot(ref)
    return Done(also=lambda tx: return_charge(tx, run.operation.resource_id))


def return_charge(tx: Session, id: str) -> None:
    """Return what a snapshot that goes took of its project's quota."""
    snapshot = everything().get(tx, Snapshot, id)
    if snapshot.consumes_quota:
        refund(tx, snapshot.project_id, snapshot_charge(snapshot.charged_gb, snapshot.volume_type_id))


def _ref(run: Run) -> SnapshotRef:
    """:raises Superseded: the snapshot is gone"""
    snapshot = row_of(run, Snapshot)
    return snapshot_ref(snapshot, row_of(run, Volume, snapshot.volume_id))


def _kind(name: str, move: Move, **more: Any) -> Kind:
    return Kind(
        name=f"snapshot.{name}",
        resource_type="VOLUME_SNAPSHOT",
        model=Snapshot,
        move=move,
        describe=describe,
        **more,
    )


CREATE = _kind(
    "create",
    moves.CREATE,
    steps={"run": _create},
    abandon=abandoned(Snapshot, _forget),
    action=Action.CREATE_SNAPSHOT,
    event="snapshot.create",
)
DELETE = _kind("delete", moves.DELETE, steps={"run": _delete}, action=Action.DELETE_SNAPSHOT, event="snapshot.delete")
FORCE_DELETE = _kind(
    "force_delete",
    moves.FORCE_DELETE,
    steps={"run": _delete},
    action=Action.DELETE_SNAPSHOT,
    event="snapshot.delete",
)

KINDS = (CREATE, DELETE, FORCE_DELETE)
