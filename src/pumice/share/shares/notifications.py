"""Payloads of notifications about shares (section 21 of the API)."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from pumice.kernel.db.scope import everything
from pumice.share.shares.model import Share, ShareInstance
from pumice.share.types.model import ShareType


def describe(tx: Session, instance: ShareInstance) -> dict[str, Any]:
    share = everything().get(tx, Share, instance.share_id)
    share_type = everything().find(tx, ShareType, share.share_type_id or "")
    return {
        "share_id": share.id,
        "user_id": share.user_id,
        "project_id": share.project_id,
        "snapshot_id": share.snapshot_id,
        "share_group_id": share.share_group_id,
        "size": share.size,
        "name": share.name,
        "description": share.description,
        "proto": share.proto,
        "is_public": share.is_public,
        "availability_zone": share.availability_zone,
        "host": instance.host,
        "status": instance.status,
        "share_type_id": share.share_type_id,
        "share_type": share_type.name if share_type else None,
    }
