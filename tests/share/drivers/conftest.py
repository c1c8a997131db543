from __future__ import annotations

import uuid

from pumice.share.drivers.base import Rule, ShareRef, SnapshotRef


def share(size: int = 1, proto: str = "NFS", *, mount_point_name: str | None = None) -> ShareRef:
    return ShareRef(str(uuid.uuid4()), size, proto, share_id=str(uuid.uuid4()), mount_point_name=mount_point_name)


def snapshot(of: ShareRef) -> SnapshotRef:
    return SnapshotRef(str(uuid.uuid4()), of, of.size)


def rule(to: str, kind: str = "ip", level: str = "rw") -> Rule:
    return Rule(str(uuid.uuid4()), kind, to, level)
