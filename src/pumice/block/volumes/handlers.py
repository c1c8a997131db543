"""Volumes: lists, show, create, update, delete and metadata (section 7 of the API)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func
from sqlalchemy.orm import Session

from pumice.block.volumes import rules
from pumice.block.volumes.deletion import delete as accept_delete
from pumice.block.volumes.model import Volume
from pumice.block.volumes.queries import VOLUMES, dress
from pumice.block.volumes.shapes import VolumeDetail, VolumeSummary, VolumeView
from pumice.kernel import moves
from pumice.kernel.errors import BadRequest

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


def index(req: Request) -> dict[str, Any]:
    with req.service.db.read() as tx:
        page = VOLUMES.page(tx, req)
    return req.page("volumes", VolumeSummary, page)


def detail(req: Request) -> dict[str, Any]:
    with req.service.db.read() as tx:
        page = VOLUMES.page(tx, req)
        dress(tx, page.rows)
    return req.page("volumes", VolumeDetail, page)


def summary(req: Request) -> dict[str, Any]:
    """Count and total size of the volumes that a list would show; from 3.36 also their metadata."""
    where = VOLUMES.conditions(req)
    with req.service.db.read() as tx:
        sums = req.list_scope.columns(Volume, func.count(), func.coalesce(func.sum(Volume.size), 0)).where(*where)
        count, size = tx.execute(sums).one()
        answer: dict[str, Any] = {"total_count": count, "total_size": int(size)}
        if req.version >= "3.36":
            metas = tx.scalars(req.list_scope.columns(Volume, Volume.meta).where(*where))
            values: dict[str, set[str]] = {}
            for meta in metas:
                for key, value in meta.items():
                    values.setdefault(key, set()).add(value)
            answer["metadata"] = {key: sorted(found) for key, found in values.items()}
    return {"volume-summary": answer}


def show(req: Request, volume: Volume) -> dict[str, Any]:
    with req.service.db.read() as tx:
        dress(tx, [volume])
    return {"volume": req.view(VolumeDetail, volume)}


def update(req: Request, volume: Volume) -> dict[str, Any]:
    changes = req.body.volume.given()
    if not changes and req.version >= "3.53":
        raise BadRequest("The update is empty: at least one of name, description and metadata is needed.")
    if "metadata" in changes:
        changes["meta"] = changes.pop("metadata")

    def work(tx: Session) -> Volume:
        changed = moves.touch(tx, Volume, volume.id, guards=[rules.CHANGEABLE], **changes)
        dress(tx, [changed])
        return changed

    return {"volume": req.view(VolumeView, req.service.db.write(work))}


def delete(req: Request, volume: Volume) -> None:
    cascade = req.query.boolean("cascade")
    force = req.query.boolean("force") and req.version >= "3.23"
    if force:
        req.authorize("volume:force_delete", {"project_id": volume.project_id, "user_id": volume.user_id})
    accept_delete(req, volume, cascade=cascade, force=force)
