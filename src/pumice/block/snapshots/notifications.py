"""Payloads of notifications about snapshots (section 24 of the API)."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from pumice.block.snapshots.model import Snapshot
from pumice.block.volumes.notifications import stamp


def describe(_tx: Session, snapshot: Snapshot) -> dict[str, Any]:
    return {
        "snapshot_id": snapshot.id,
        "volume_id": snapshot.volume_id,
        "volume_size": snapshot.size,
        "tenant_id": snapshot.project_id,
        "user_id": snapshot.user_id,
        "status": snapshot.status,
        "display_name": snapshot.name,
        "created_at": stamp(snapshot.created_at),
        "deleted": stamp(None),
        "metadata": snapshot.meta,
    }
