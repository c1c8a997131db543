"""Where mountable snapshots are exported: the rows of their export locations."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete
from sqlalchemy.orm import Session

from pumice.kernel.db.base import new_id
from pumice.kernel.db.engine import Database
from pumice.kernel.db.scope import everything
from pumice.share.access.rules import bring_heir, inherits
from pumice.share.drivers.base import MountableSnapshots, Path, ShareDriver, SnapshotRef
from pumice.share.shares.model import Share
from pumice.share.snapshots.model import SnapshotExportLocation, SnapshotInstance


def export(db: Database, driver: ShareDriver, ref: SnapshotRef, share: Share) -> Sequence[Path]:
    """Export a snapshot where its share says so, to nobody or to whom its share's rules name; where it is exported.

    By whoever has the share instance's lock.

    :raises BackendError:
    """
    if not share.mount_snapshot_support or not isinstance(driver, MountableSnapshots):
        return ()
    paths = driver.export_snapshot(ref)
    if inherits(share):
        bring_heir(db, driver, ref)
    return paths


def store(tx: Session, instance: SnapshotInstance, paths: Sequence[Path]) -> None:
    """Let the rows of export locations be those that the driver named; a path that stays keeps its id."""
    of_instance = SnapshotExportLocation.snapshot_instance_id == instance.id
    known = set(
        tx.scalars(everything().columns(SnapshotExportLocation, SnapshotExportLocation.path).where(of_instance))
    )
    wanted = {one.path: one for one in paths}
    tx.execute(delete(SnapshotExportLocation).where(of_instance, SnapshotExportLocation.path.not_in(list(wanted))))
    tx.add_all(
        [
            SnapshotExportLocation(
                id=new_id(),
                project_id=instance.project_id,
                snapshot_id=instance.snapshot_id,
                snapshot_instance_id=instance.id,
                path=path,
                is_admin_only=one.is_admin_only,
            )
            for path, one in wanted.items()
            if path not in known
        ]
    )
    tx.flush()
