"""Where instances are exported: the rows of export locations, and seeing that an export is there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Select, delete, exists
from sqlalchemy.orm import Session

from pumice.kernel.db.base import new_id
from pumice.kernel.db.engine import Database
from pumice.kernel.db.scope import everything
from pumice.kernel.moves import Superseded
from pumice.share.access.rules import behind
from pumice.share.drivers.base import MountableSnapshots, Path, ShareDriver
from pumice.share.refs import share_ref, snapshot_ref
from pumice.share.shares.model import ExportLocation, ShareInstance
from pumice.share.snapshots.model import SnapshotExportLocation, SnapshotInstance

EXPORTED = (
    "available",
    "awaiting_transfer",
    "ensuring",
    "extending",
    "extending_error",
    "shrinking",
    "shrinking_error",
    "shrinking_possible_data_loss_error",
    "reverting",
    "reverting_error",
)
"""Statuses of an instance that has its data and its exports."""


def to_ensure(tx: Session, backend: str, held: Collection[str]) -> list[str]:
    """The ids of the instances of a backend that are to be made sure of, oldest first.

    Those that are not exported, or a mountable snapshot of which is not, or whose rules are not what they should be.

    :param held: the ids of instances, and of snapshots' instances, that the backend exports
    """
    here = ShareInstance.host.startswith(f"{backend}#", autoescape=True)
    exported = everything().columns(ShareInstance, ShareInstance.id).where(here, ShareInstance.status.in_(EXPORTED))
    ids = tx.scalars(exported.order_by(ShareInstance.created_at)).all()
    trouble = {id for id in ids if id not in held}
    trouble.update(one.share_instance_id for one in _mountable(tx, exported) if one.id not in held)
    trouble.update(behind(tx, backend))
    return [id for id in ids if id in trouble]


def _mountable(tx: Session, instance_ids: Select[Any] | Sequence[str]) -> Sequence[SnapshotInstance]:
    """The snapshots of instances that are exported."""
    located = exists().where(SnapshotExportLocation.snapshot_instance_id == SnapshotInstance.id)
    rests = SnapshotInstance.status.in_(("available", "awaiting_transfer"))
    of_instances = SnapshotInstance.share_instance_id.in_(instance_ids)
    return tx.scalars(everything().select(SnapshotInstance).where(of_instances, rests, located)).all()


def lost(tx: Session, backend: str, held: Collection[str]) -> list[str]:
    """The ids of the instances whose exports or rules are not what the rows say, so far as is known without looking:
    `held` are the exports that the file servers have."""
    behind = set(access.behind(tx, access.SHARE, backend))
    snapshots = SnapshotInstance.id.in_(access.behind(tx, access.SNAPSHOT, backend))
    behind |= set(
        tx.scalars(everything().columns(SnapshotInstance, SnapshotInstance.share_instance_id).where(snapshots))
    )
    return [id for id in on_backend(tx, backend) if id not in held or id in behind]


def ensure(db: Database, driver: ShareDriver, instance_id: str) -> None:
    """See that an instance is there, and exported to those whom its rules name, as are its snapshots; by whoever has
    its lock.

    :raises BackendError:
    :raises Superseded: it is gone
    """
    with db.read() as tx:
        instance = everything().find(tx, ShareInstance, instance_id)
        if instance is None or instance.status not in EXPORTED:
            raise Superseded(f"share instance {instance_id} is not to be exported any more")
        ref = share_ref(tx, instance)
        share = everything().get(tx, Share, instance.share_id)
        there = (
            SnapshotInstance.share_instance_id == instance_id,
            SnapshotInstance.status.in_(("available", "restoring")),
        )
        snapshots = [
            (one, snapshot_ref(tx, one)) for one in tx.scalars(everything().select(SnapshotInstance).where(*there))
        ]
    paths = driver.ensure_share(ref)
    db.write(lambda tx: store(tx, instance, paths))
    db.write(access.bring(db, driver, access.SHARE, instance_id))
    if not share.mount_snapshot_support or not isinstance(driver, MountableSnapshots):
        return
    for snapshot, source in snapshots:
        paths = driver.export_snapshot(source)
        db.write(partial(store_snapshot, instance=snapshot, paths=paths))
        db.write(access.bring(db, driver, access.SNAPSHOT, snapshot.id))


def store(tx: Session, instance: ShareInstance, paths: Sequence[Path]) -> None:
    """Let the rows of export locations be those that the driver named; a path that stays keeps its id."""
    of_instance = ExportLocation.share_instance_id == instance.id
    known = {row.path: row for row in tx.scalars(everything().select(ExportLocation).where(of_instance))}
    gone = known.keys() - {one.path for one in paths}
    tx.execute(delete(ExportLocation).where(of_instance, ExportLocation.path.in_(gone)))
    for one in paths:
        row = known.get(one.path)
        if row is None:
            tx.add(
                ExportLocation(
                    id=new_id(),
                    project_id=instance.project_id,
                    share_id=instance.share_id,
                    share_instance_id=instance.id,
                    path=one.path,
                    preferred=one.preferred,
                    is_admin_only=one.is_admin_only,
                    meta=dict(one.metadata),
                )
            )
        elif (row.preferred, row.is_admin_only) != (one.preferred, one.is_admin_only):
            row.preferred, row.is_admin_only = one.preferred, one.is_admin_only
    tx.flush()
