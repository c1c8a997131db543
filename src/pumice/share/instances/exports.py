"""Where instances are exported: the rows of export locations, and seeing that an export is there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Select, delete, exists
from sqlalchemy.orm import Session

from pumice.kernel.db.base import new_id, utcnow
from pumice.kernel.db.engine import Database
from pumice.kernel.db.scope import everything
from pumice.kernel.moves import Superseded
from pumice.share.access.rules import SHARE, SNAPSHOT, behind, bring, inherits
from pumice.share.drivers.base import Path, ShareDriver
from pumice.share.refs import share_ref, snapshot_ref
from pumice.share.shares.model import ExportLocation, Share, ShareInstance
from pumice.share.snapshots.exports import export
from pumice.share.snapshots.exports import store as store_snapshot
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


def on_backend(tx: Session, backend: str) -> Sequence[str]:
    """The ids of the instances that a backend has to export, oldest first."""
    return tx.scalars(_exported(backend).order_by(ShareInstance.created_at)).all()


def _exported(backend: str) -> Select[Any]:
    here = ShareInstance.host.startswith(f"{backend}#", autoescape=True)
    return everything().columns(ShareInstance, ShareInstance.id).where(here, ShareInstance.status.in_(EXPORTED))


def to_ensure(tx: Session, backend: str, held: Collection[str]) -> list[str]:
    """The ids of the instances of a backend that are to be made sure of, oldest first.

    Those that are not exported, or a mountable snapshot of which is not, or whose rules are not what they should be.

    :param held: the ids of instances, and of snapshots' instances, that the backend exports
    """
    ids = on_backend(tx, backend)
    trouble = {id for id in ids if id not in held}
    trouble.update(one.share_instance_id for one in _mountable(tx, _exported(backend)) if one.id not in held)
    trouble.update(behind(tx, backend))
    return [id for id in ids if id in trouble]


def _mountable(tx: Session, instance_ids: Select[Any] | Sequence[str]) -> Sequence[SnapshotInstance]:
    """The snapshots of instances that are exported."""
    located = exists().where(SnapshotExportLocation.snapshot_instance_id == SnapshotInstance.id)
    rests = SnapshotInstance.status.in_(("available", "awaiting_transfer"))
    of_instances = SnapshotInstance.share_instance_id.in_(instance_ids)
    return tx.scalars(everything().select(SnapshotInstance).where(of_instances, rests, located)).all()


def ensure(db: Database, driver: ShareDriver, instance_id: str) -> None:
    """See that an instance is there, and exported to those whom its rules name, as are its mountable snapshots; by
    whoever has its lock.

    :raises BackendError:
    :raises Superseded: it is gone
    """
    with db.read() as tx:
        instance = everything().find(tx, ShareInstance, instance_id)
        if instance is None or instance.status not in EXPORTED:
            raise Superseded(f"share instance {instance_id} is not to be exported any more")
        ref, share = share_ref(tx, instance), everything().get(tx, Share, instance.share_id)
        snapshots = [(one, snapshot_ref(tx, one)) for one in _mountable(tx, [instance_id])]
    paths = driver.ensure_share(ref)
    db.write(lambda tx: store(tx, instance, paths))
    db.write(bring(db, driver, SHARE, instance_id))
    for snapshot, source in snapshots:
        paths = export(db, driver, source, share)
        db.write(partial(store_snapshot, instance=snapshot, paths=paths))
        if not inherits(share):
            db.write(bring(db, driver, SNAPSHOT, snapshot.id))


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
                    updated_at=utcnow(),  # clients read a time in it from the start
                )
            )
        elif (row.preferred, row.is_admin_only) != (one.preferred, one.is_admin_only):
            row.preferred, row.is_admin_only = one.preferred, one.is_admin_only
    tx.flush()
