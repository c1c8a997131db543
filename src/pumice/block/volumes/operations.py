"""What is done to volumes asynchronously: create, delete, extend, revert."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from pumice.block.attachments.exports import exports_of
from pumice.block.attachments.model import Attachment, Connection
from pumice.block.backends import alone, compute_of, driver_of, refused, refused_as, snapshot_ref, volume_ref
from pumice.block.drivers.base import Clones, ComputeExtends, Driver, Reverts, Snapshots, VolumeRef
from pumice.block.message_codes import Action, Detail
from pumice.block.quotas.resources import growth_charge, snapshot_charge, volume_charge
from pumice.block.snapshots.model import Snapshot
from pumice.block.volumes import moves
from pumice.block.volumes.model import Volume
from pumice.block.volumes.notifications import describe
from pumice.block.volumes.placement import request_of
from pumice.kernel.db.base import utcnow
from pumice.kernel.db.scope import everything
from pumice.kernel.drivers import BackendError
from pumice.kernel.moves import End, Move
from pumice.kernel.operations.kinds import Done, Failure, Kind, Outcome, Wait
from pumice.kernel.operations.model import Operation
from pumice.kernel.operations.worker import Run
from pumice.kernel.quotas import refund
from pumice.kernel.scheduling import pool
from pumice.kernel.scheduling.placing import elsewhere, release_growth, reserve_growth, schedule
from pumice.kernel.steps import abandoned, capable, row_of

# Creating


def _schedule(run: Run) -> Outcome:
    """Claim room on the best pool and hand over to its worker."""
    volume = row_of(run, Volume)
    return schedule(run, volume, lambda tx: request_of(tx, run, volume))


def _build(run: Run) -> Outcome:
    volume = row_of(run, Volume)
    driver = driver_of(run)
    try:
        _make(run, volume)
    except BackendError as error:
        bound = bool(volume.snapshot_id or volume.source_volid)
        refusal = refused(error, Detail.DRIVER_CREATE_FAILED)
        return elsewhere(
            run, volume, volume.size, refusal, bound=bound, remove=lambda: driver.delete_volume(volume_ref(volume))
        )

    def also(tx: Session) -> None:
        pool.settle(tx, volume.host or "", volume.size)

    return Done({"launched_at": utcnow()}, also)


def _make(run: Run, volume: Volume) -> None:
    """The one storage call that gives the volume its data."""
    ref = volume_ref(volume)
    if volume.snapshot_id is not None:
        source = _source_snapshot(run, volume.snapshot_id)
        snapshots = capable(run, Snapshots, "make volumes of snapshots", detail=Detail.DRIVER_CREATE_FAILED)
        snapshots.create_volume_from_snapshot(ref, source)
    elif volume.source_volid is not None:
        origin = volume_ref(row_of(run, Volume, volume.source_volid))
        capable(run, Clones, "clone volumes", detail=Detail.DRIVER_CREATE_FAILED).clone_volume(ref, origin)
    else:
        driver_of(run).create_volume(ref)


def _source_snapshot(run: Run, id: str) -> Any:
    with run.db.read() as tx:
        snapshot = everything().get(tx, Snapshot, id)
        volume = everything().get(tx, Volume, snapshot.volume_id)
    return snapshot_ref(snapshot, volume)


def _forget(driver: Driver, run: Run) -> None:
    driver.delete_volume(VolumeRef(id=run.operation.resource_id, size=0, pool=""))


# Deleting


def _delete(run: Run) -> Outcome:
    """Remove exports, then the snapshots that go along, then the volume; then all of their rows at once."""
    volume = row_of(run, Volume)
    with run.db.read() as tx:
        snapshots = list(tx.scalars(everything().select(Snapshot).where(Snapshot.volume_id == volume.id)))
        exports = exports_of(tx, volume)
    with refused_as(Detail.UNKNOWN):
        for export in exports:
            driver_of(run).disconnect(export)
        for number, snapshot in enumerate(snapshots):
            driver = driver_of(run)
            if isinstance(driver, Snapshots):  # another has none, whatever a failed request has left in the rows
                driver.delete_snapshot(snapshot_ref(snapshot, volume))
            run.progress(100.0 * number / (len(snapshots) + 1))
        driver_of(run).delete_volume(volume_ref(volume))
    return Done(also=lambda tx: remove_rows(tx, volume, snapshots))


def remove_rows(tx: Session, volume: Volume, snapshots: Iterable[Snapshot] = ()) -> None:
    """Remove what hangs on a volume, and return what it and its snapshots took of quota and room.

    The volume's own row goes with the end of its move.
    """
    for model in (Attachment, Connection, Snapshot):
        tx.execute(delete(model).where(model.volume_id == volume.id))
    for row in snapshots:
        if row.consumes_quota:
            refund(tx, row.project_id, snapshot_charge(row.charged_gb, row.volume_type_id))
    if volume.consumes_quota:
        refund(tx, volume.project_id, volume_charge(volume.size, volume.volume_type_id))
    if volume.host:
        pool.release(tx, volume.host, volume.size, settled=bool(volume.launched_at))


def _snapshots_stay(tx: Session, operation: Operation) -> None:
    """After a failed delete, snapshots that were to go along can be deleted again."""
    mine = update(Snapshot).where(Snapshot.operation_id == operation.id)
    tx.execute(mine.values(status="error_deleting", operation_id=None))


# Extending


def _reserve_growth(run: Run) -> Outcome:
    volume = row_of(run, Volume)
    return reserve_growth(run, volume, volume.growing_gb, then="grow")


def _grow(run: Run) -> Outcome:
    volume = row_of(run, Volume)
    driver = driver_of(run)
    attached = run.args["instances"]
    ref = volume_ref(volume)
    if attached and isinstance(driver, ComputeExtends) and driver.extended_by_compute(ref):
        run.expect("extend_completion")
        if not compute_of(run).volume_extended(volume.id, attached):
            raise Failure("compute could not be asked to extend the volume", detail=Detail.COMPUTE_EXTEND_FAILED)
        return Wait("extend_completion", step="complete", timeout=run.args["completion_timeout"])
    with refused_as(Detail.DRIVER_EXTEND_FAILED):
        driver.extend_volume(ref, volume.size + volume.growing_gb)
    if attached:
        compute_of(run).volume_extended(volume.id, attached)
    return _grown(volume)


def _complete(run: Run) -> Outcome:
    """Compute has extended the volume, or says that it could not, or says nothing."""
    answer = run.checkpoint.get("extend_completion", {"error": True})
    if answer["error"]:
        raise Failure("compute did not extend the volume", detail=Detail.COMPUTE_EXTEND_FAILED)
    return _grown(row_of(run, Volume))


def _grown(volume: Volume) -> Done:
    """The end of an extend; a volume whose create was cut off by a reset is known to be whole only now."""
    size = volume.size + volume.growing_gb

    def also(tx: Session) -> None:
        pool.settle(tx, volume.host or "", volume.growing_gb if volume.launched_at else size)

    return Done({"size": size, "growing_gb": 0, "launched_at": volume.launched_at or utcnow()}, also)


def _shrink_back(tx: Session, operation: Operation) -> None:
    """A failed extend takes no quota and no room."""
    volume = tx.get_one(Volume, operation.resource_id, populate_existing=True)
    refund(tx, volume.project_id, growth_charge(volume.growing_gb, volume.volume_type_id))
    release_growth(tx, operation, volume)
    tx.execute(update(Volume).where(Volume.id == volume.id).values(growing_gb=0))


# Reverting


def _revert(run: Run) -> Outcome:
    volume = row_of(run, Volume)
    with run.db.read() as tx:
        snapshot = everything().get(tx, Snapshot, run.args["snapshot_id"])
    driver = capable(run, Reverts, "revert volumes", status=End.PREVIOUS)
    with refused_as(Detail.UNKNOWN):
        driver.revert_to_snapshot(volume_ref(volume), snapshot_ref(snapshot, volume))
    return Done(also=lambda tx: _snapshot_rests(tx, run.operation))


def _snapshot_rests(tx: Session, operation: Operation) -> None:
    mine = update(Snapshot).where(Snapshot.operation_id == operation.id)
    tx.execute(mine.values(status="available", operation_id=None))


def _kind(name: str, move: Move, **more: Any) -> Kind:
    return Kind(name=f"volume.{name}", resource_type="VOLUME", model=Volume, move=move, describe=describe, **more)


CREATE = _kind(
    "create",
    moves.CREATE,
    steps={"run": _schedule, "build": _build},
    abandon=abandoned(Volume, _forget),
    action=Action.SCHEDULE,
    event="volume.create",
)
DELETE = _kind("delete", moves.DELETE, steps={"run": alone(_delete)}, undo=_snapshots_stay, event="volume.delete")
FORCE_DELETE = _kind(
    "force_delete", moves.FORCE_DELETE, steps={"run": alone(_delete)}, undo=_snapshots_stay, event="volume.delete"
)
EXTEND = _kind(
    "extend",
    moves.EXTEND,
    steps={"run": _reserve_growth, "grow": alone(_grow), "complete": _complete},
    undo=_shrink_back,
    action=Action.EXTEND,
    event="volume.resize",
)
REVERT = _kind("revert", moves.REVERT, steps={"run": alone(_revert)}, undo=_snapshot_rests, event="volume.revert")

KINDS = (CREATE, DELETE, FORCE_DELETE, EXTEND, REVERT)
