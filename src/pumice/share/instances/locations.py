"""Export locations of shares and of instances, and their metadata (section 7 of the API)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from pumice.kernel.api.routes import Route
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import Forbidden, NotFound
from pumice.kernel.metadata import MetadataOf
from pumice.share.instances.shapes import LocationDetail, LocationSummary
from pumice.share.shares.metadata import keep_admin_keys
from pumice.share.shares.model import ExportLocation, Share, ShareInstance

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


def _rows(tx: Session, req: Request, *where: ColumnElement[bool]) -> list[ExportLocation]:
    """The locations that the caller may see."""
    shown = () if req.context.is_admin else (ExportLocation.is_admin_only.is_(False),)
    order = (ExportLocation.created_at, ExportLocation.id)
    return list(tx.scalars(everything().select(ExportLocation).where(*where, *shown).order_by(*order)))


def _one(tx: Session, req: Request, id: str, *where: ColumnElement[bool]) -> ExportLocation:
    """:raises NotFound: there is no such location here, or it is not for the caller to see"""
    found = _rows(tx, req, ExportLocation.id == id, *where)
    if not found:
        raise NotFound(f"Export location {id} could not be found.")
    return found[0]


def _of_visible(tx: Session, req: Request, share_id: str) -> ColumnElement[bool]:
    """:raises Forbidden: it is another project's share; everywhere else that is as if there were none"""
    share = everything().find(tx, Share, share_id)
    if share and req.scope.find(tx, Share, share_id) is None:
        raise Forbidden(f"Share {share_id} is another project's: its export locations cannot be read.")
    return ExportLocation.share_id == req.get(tx, Share, share_id).id


def index(req: Request, share_id: str) -> dict[str, Any]:
    with req.service.db.read() as tx:
        rows = _rows(tx, req, _of_visible(tx, req, share_id))
    return {"export_locations": req.views(LocationSummary, rows)}


def show(req: Request, share_id: str, location_id: str) -> dict[str, Any]:
    with req.service.db.read() as tx:
        row = _one(tx, req, location_id, _of_visible(tx, req, share_id))
    return {"export_location": req.view(LocationDetail, row)}


def index_of_instance(req: Request, instance: ShareInstance) -> dict[str, Any]:
    with req.service.db.read() as tx:
        rows = _rows(tx, req, ExportLocation.share_instance_id == instance.id)
    return {"export_locations": req.views(LocationSummary, rows)}


def show_of_instance(req: Request, instance: ShareInstance, location_id: str) -> dict[str, Any]:
    with req.service.db.read() as tx:
        row = _one(tx, req, location_id, ExportLocation.share_instance_id == instance.id)
    return {"export_location": req.view(LocationDetail, row)}


def _settle(req: Request, _row: ExportLocation, before: Mapping[str, str], after: dict[str, str]) -> dict[str, str]:
    keys = req.service.conf.admin_only_el_metadata
    return keep_admin_keys(req, before, after, keys, "share_export_location:update_admin_only_metadata")


def _of_share(handler: Callable[..., Any]) -> Callable[..., Any]:
    """A handler of a location's metadata, reached by its share."""

    def reached(req: Request, share: Share, location_id: str, **rest: str) -> Any:
        with req.service.db.read() as tx:
            row = _one(tx, req, location_id, ExportLocation.share_id == share.id)
        return handler(req, row, **rest)

    return reached


METADATA = MetadataOf(
    model=ExportLocation,
    path="/shares/{share_id}/export_locations/{location_id}",
    policies=(
        "share_export_location:get_metadata",
        "share_export_location:update_metadata",
        "share_export_location:update_metadata",
        "share_export_location:delete_metadata",
    ),
    settle=_settle,
    wide=True,
    since="2.87",
)
METADATA_ROUTES: list[Route] = [
    replace(route, load=Share, handler=_of_share(route.handler)) for route in METADATA.routes()
]
