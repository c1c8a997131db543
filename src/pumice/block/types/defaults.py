"""The default volume types of projects (section 14 of the API)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oslo_db import exception as db_errors
from sqlalchemy.orm import Session

from pumice.block.types.model import DefaultType, VolumeType
from pumice.block.types.projects import check_project
from pumice.block.types.shapes import DefaultTypeDetail
from pumice.kernel.db.engine import TryAgain
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import BadRequest, NotFound
from pumice.kernel.types import find_type

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


def index(req: Request) -> dict[str, Any]:
    with req.service.db.read() as tx:
        rows = tx.scalars(everything().select(DefaultType).order_by(DefaultType.project_id)).all()
    return {"default_types": req.views(DefaultTypeDetail, rows)}


def show(req: Request, project_id: str) -> dict[str, Any]:
    with req.service.db.read() as tx:
        row = tx.get(DefaultType, project_id)
    if row is None:
        raise NotFound(f"No default volume type is set for project {project_id}.")
    return {"default_type": req.view(DefaultTypeDetail, row)}


def put(req: Request, project_id: str) -> dict[str, Any]:
    wanted = req.body.default_type.volume_type
    check_project(req.service.conf, project_id)

    def work(tx: Session) -> DefaultType:
        try:
            found = find_type(tx, VolumeType, req.scope, wanted, hold=True)
        except NotFound as error:
            raise BadRequest(error.message) from error
        row = tx.merge(DefaultType(project_id=project_id, volume_type_id=found.id))
        try:
            tx.flush()
        except db_errors.DBDuplicateEntry as error:
            raise TryAgain from error
        return row

    return {"default_type": req.view(DefaultTypeDetail, req.service.db.write(work))}


def remove(req: Request, project_id: str) -> None:
    def work(tx: Session) -> None:
        if row := tx.get(DefaultType, project_id):
            tx.delete(row)

    req.service.db.write(work)
