"""How drivers are told of shares and snapshots."""

from __future__ import annotations

from sqlalchemy.orm import Session

from pumice.kernel.db.scope import everything
from pumice.share.drivers.base import ShareRef, SnapshotRef
from pumice.share.shares.model import Share, ShareInstance
from pumice.share.snapshots.model import ShareSnapshot, SnapshotInstance


def share_ref(tx: Session, instance: ShareInstance) -> ShareRef:
    share = everything().get(tx, Share, instance.share_id)
    return ShareRef(
        id=instance.id,
        size=share.size,
        proto=share.proto,
        pool=instance.pool,
        share_id=share.id,
        mount_point_name=share.mount_point_name,
    )


def snapshot_ref(tx: Session, instance: SnapshotInstance) -> SnapshotRef:
    snapshot = everything().get(tx, ShareSnapshot, instance.snapshot_id)
    source = everything().get(tx, ShareInstance, instance.share_instance_id)
    return SnapshotRef(
        id=instance.id,
        share=share_ref(tx, source),
        size=snapshot.size,
        provider_location=instance.provider_location,
    )
