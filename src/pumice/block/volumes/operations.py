"""What is done to volumes asynchronously: create, delete, extend, revert."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from pumice.block.attachments.exports import exports_of
from pumice.block.attachments.model import Attachment, Connection
from pumice.block.backends import (
    VolumeBackend,
    alone,
    compute_of,
    driver_of,
    queue_of,
    refused,
    snapshot_ref,
    volume_of,
    volume_ref,
)
from pumice.block.drivers.base import Clones, ComputeExtends, Driver, Reverts, Snapshots, VolumeRef
from pumice.block.message_codes import Action, Detail
from pumice.block.quotas.resources import growth_charge, snapshot_charge, volume_charge
from pumice.block.snapshots.model import Snapshot
from pumice.block.volumes import moves
from pumice.block.volumes.model import Volume
from pumice.block.volumes.notifications import describe
from pumice.block.volumes.placement import place
from pumice.kernel.backends import capable
from pumice.kernel.db.base import utcnow
from pumice.kernel.db.scope import everything
from pumice.kernel.drivers import BackendError
from pumice.kernel.moves import End, Move
from pumice.kernel.operations.kinds import Done, Failure, Kind, Next, Outcome, Wait
from pumice.kernel.operations.model import Operation
from pumice.kernel.operations.worker import Run
from pumice.kernel.quotas import refund
from pumice.kernel.scheduling import pool
from pumice.kernel.scheduling.placing import Placer, RoomUnsure
from pumice.kernel.serving import SCHEDULER

LOG = logging.getLogger(__name__)

# Creating


def _schedule(run: Run) -> Outcome:
    """Claim room on the best pool and hand over to its worker."""
    volume = volume_of(run)
    if volume.host is None:
        placer: Placer = run.environment
        try:
            volume = place(run, volume)
        except RoomUnsure:
            return placer.ask_again(run)
    return Next("build", queue=queue_of(volume.backend))


def _build(run: Run) -> Outcome:
    volume = volume_of(run)
    driver = driver_of(run)
    try:
        _make(run, volume)
    except BackendError as error:
        return _elsewhere(run, driver, volume, error)

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
        origin = volume_ref(volume_of(run, volume.source_volid))
        capable(run, Clones, "clone volumes", detail=Detail.DRIVER_CREATE_FAILED).clone_volume(ref, origin)
    else:
        driver_of(run).create_volume(ref)


def _source_snapshot(run: Run, id: str) -> Any:
    with run.db.read() as tx:
        snapshot = everything().get(tx, Snapshot, id)
        volume = everything().get(tx, Volume, snapshot.volume_id)
    return snapshot_ref(snapshot, volume)


def _elsewhere(run: Run, driver: Driver, volume: Volume, error: BackendError) -> Outcome:
    """Try another backend, if the volume is not bound to this one and tries are left; else fail."""
    attempted = [*run.checkpoint.get("attempted", []), volume.host]
    bound = volume.snapshot_id or volume.source_volid
    if bound or len(attempted) >= run.args["attempts"]:
        raise refused(error, Detail.DRIVER_CREATE_FAILED) from error
    _leave_nothing(driver, volume)

    def also(tx: Session) -> None:
        pool.release(tx, volume.host or "", volume.size, settled=False)

    nowhere = {"host": None, "service_uuid": None}
    return Next(
        "run", queue=SCHEDULER, values=nowhere, also=also, checkpoint={"attempted": attempted, "refused": str(error)}
    )


def _leave_nothing(driver: Driver, volume: Volume) -> None:
    try:
        driver.delete_volume(volume_ref(volume))
    except BackendError:
        LOG.exception("what is left of volume %s on %s could not be removed", volume.id, volume.host)


def _abandon(run: Run) -> None:
    """A create that was taken away by a deletion leaves nothing, whether or not that has ended by now."""
    with run.db.read() as tx:
        volume = everything().find(tx, Volume, run.operation.resource_id)
    if isinstance(run.environment, VolumeBackend) and (volume is None or volume.status == moves.DELETE.via):
        run.environment.driver.delete_volume(VolumeRef(id=run.operation.resource_id, size=0, pool=""))


# Deleting


def _delete(run: Run) -> Outcome:
    """Remove exports, then the snapshots that go along, then the volume; then all of their rows at once."""
    volume = volume_of(run)
    with run.db.read() as tx:
        snapshots = list(tx.scalars(everything().select(Snapshot).where(Snapshot.volume_id == volume.id)))
        exports = exports_of(tx, volume)
    try:
        for export in exports:
            driver_of(run).disconnect(export)
        for number, snapshot in enumerate(snapshots):
            driver = driver_of(run)
            if isinstance(driver, Snapshots):  # another has none, whatever a failed request has left in the rows
                driver.delete_snapshot(snapshot_ref(snapshot, volume))
            run.progress(100.0 * number / (len(snapshots) + 1))
        driver_of(run).delete_volume(volume_ref(volume))
    except BackendError as error:
        raise refused(error, Detail.UNKNOWN) from error
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
    """Claim the growth on the volume's pool: room is asked for before the backend is."""
    volume = volume_of(run)
    growth = volume.growing_gb

    def also(tx: Session) -> None:
        if not pool.claim(tx, volume.host or "", growth, thick=run.args["thick"]):
            raise Failure(
                f"pool {volume.host} has no room for {growth} GiB more",
                detail=Detail.NO_BACKEND,
                status=End.PREVIOUS,
            )

    return Next("grow", queue=queue_of(volume.backend), also=also, checkpoint={"claimed": growth})


def _grow(run: Run) -> Outcome:
    volume = volume_of(run)
    driver = driver_of(run)
    attached = run.args["instances"]
    ref = volume_ref(volume)
    if attached and isinstance(driver, ComputeExtends) and driver.extended_by_compute(ref):
        run.expect("extend_completion")
        if not compute_of(run).volume_extended(volume.id, attached):
            raise Failure("compute could not be asked to extend the volume", detail=Detail.COMPUTE_EXTEND_FAILED)
        return Wait("extend_completion", step="complete", timeout=run.args["completion_timeout"])
    try:
        driver.extend_volume(ref, volume.size + volume.growing_gb)
    except BackendError as error:
        raise refused(error, Detail.DRIVER_EXTEND_FAILED) from error
    if attached:
        compute_of(run).volume_extended(volume.id, attached)
    return _grown(volume)


def _complete(run: Run) -> Outcome:
    """Compute has extended the volume, or says that it could not, or says nothing."""
    answer = run.checkpoint.get("extend_completion", {"error": True})
    if answer["error"]:
        raise Failure("compute did not extend the volume", detail=Detail.COMPUTE_EXTEND_FAILED)
    return _grown(volume_of(run))


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
    if "claimed" in operation.checkpoint:
        pool.release(tx, volume.host or "", operation.checkpoint["claimed"], settled=False)
    tx.execute(update(Volume).where(Volume.id == volume.id).values(growing_gb=0))


# Reverting


def _revert(run: Run) -> Outcome:
    volume = volume_of(run)
    with run.db.read() as tx:
        snapshot = everything().get(tx, Snapshot, run.args["snapshot_id"])
    driver = capable(run, Reverts, "revert volumes", status=End.PREVIOUS)
    try:
        driver.revert_to_snapshot(volume_ref(volume), snapshot_ref(snapshot, volume))
    except BackendError as error:
        raise refused(error, Detail.UNKNOWN) from error
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
    abandon=_abandon,
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
