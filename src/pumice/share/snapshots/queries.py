"""Reading snapshots, their instances and where they are exported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement

from pumice.kernel.db.filters import pairs
from pumice.kernel.db.paging import Filter, Listing
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import NotFound
from pumice.share.projection import DEFERRED
from pumice.share.snapshots.model import SEE_DEFERRED, ShareSnapshot, SnapshotExportLocation, SnapshotInstance
from pumice.share.snapshots.shapes import (
    InstanceDetail,
    InstanceExportDetail,
    InstanceExportLocation,
    InstanceSummary,
    LocationDetail,
    LocationSummary,
    SnapshotDetail,
    SnapshotSummary,
)

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request
    from pumice.kernel.api.views import View

ALL_PROJECTS = "share_snapshot:list_all_projects"

SNAPSHOTS: Listing[ShareSnapshot] = Listing(
    ShareSnapshot,
    "share_snapshot",
    configured=("name", "display_name", "status", "share_id", "size", "description", "metadata", "project_id"),
    filters=(
        Filter("name", ShareSnapshot.name),
        Filter("display_name", ShareSnapshot.name),
        Filter("description", ShareSnapshot.description, since="2.36"),
        Filter("metadata", ShareSnapshot.meta, pairs, since="2.73"),
        Filter("share_proto", ShareSnapshot.proto),
    ),
    sort={
        "id": ShareSnapshot.id,
        "status": ShareSnapshot.status,
        "size": ShareSnapshot.size,
        "share_size": ShareSnapshot.size,
        "share_id": ShareSnapshot.share_id,
        "share_proto": ShareSnapshot.proto,
        "user_id": ShareSnapshot.user_id,
        "project_id": ShareSnapshot.project_id,
        "name": ShareSnapshot.name,
        "display_name": ShareSnapshot.name,
        "description": ShareSnapshot.description,
        "created_at": ShareSnapshot.created_at,
        "updated_at": ShareSnapshot.updated_at,
    },
    count_from="2.79",
)

INSTANCES: Listing[SnapshotInstance] = Listing(SnapshotInstance, "share_snapshot_instance")


def index(req: Request) -> dict[str, Any]:
    return _list(req, SnapshotSummary)


def detail(req: Request) -> dict[str, Any]:
    return _list(req, SnapshotDetail)


def _list(req: Request, view: type[View]) -> dict[str, Any]:
    with req.service.db.read() as tx:
        shown = [] if req.allowed(SEE_DEFERRED) else [ShareSnapshot.status.not_in(DEFERRED)]
        page = SNAPSHOTS.page(tx, req, scope=req.list_scope_by(ALL_PROJECTS), where=shown)
    return req.page("snapshots", view, page, links_key="share_snapshots_links")


def show(req: Request, snapshot: ShareSnapshot) -> dict[str, Any]:
    return {"snapshot": req.view(SnapshotDetail, snapshot)}


def instances(req: Request) -> dict[str, Any]:
    return _instances(req, InstanceSummary)


def instances_detail(req: Request) -> dict[str, Any]:
    return _instances(req, InstanceDetail)


def _instances(req: Request, view: type[View]) -> dict[str, Any]:
    with req.service.db.read() as tx:
        page = INSTANCES.page(tx, req, scope=req.scope)
    return {"snapshot_instances": req.views(view, page.rows)}


def instance(req: Request, row: SnapshotInstance) -> dict[str, Any]:
    return {"snapshot_instance": req.view(InstanceDetail, row)}


def locations(req: Request, snapshot: ShareSnapshot) -> dict[str, Any]:
    view = InstanceExportLocation if req.context.is_admin else LocationSummary
    return _locations(req, view, SnapshotExportLocation.snapshot_id == snapshot.id)


def location(req: Request, snapshot: ShareSnapshot, export_location_id: str) -> dict[str, Any]:
    view = InstanceExportDetail if req.context.is_admin else LocationDetail
    return _location(req, view, SnapshotExportLocation.snapshot_id == snapshot.id, export_location_id)


def instance_locations(req: Request, row: SnapshotInstance) -> dict[str, Any]:
    return _locations(req, InstanceExportLocation, SnapshotExportLocation.snapshot_instance_id == row.id)


def instance_location(req: Request, row: SnapshotInstance, export_location_id: str) -> dict[str, Any]:
    of_instance = SnapshotExportLocation.snapshot_instance_id == row.id
    return _location(req, InstanceExportDetail, of_instance, export_location_id)


def _shown(req: Request, *which: ColumnElement[bool]) -> list[SnapshotExportLocation]:
    statement = everything().select(SnapshotExportLocation).where(*which)
    if not req.context.is_admin:
        statement = statement.where(SnapshotExportLocation.is_admin_only.is_(False))
    with req.service.db.read() as tx:
        return list(tx.scalars(statement.order_by(SnapshotExportLocation.created_at, SnapshotExportLocation.id)))


def _locations(req: Request, view: type[View], which: ColumnElement[bool]) -> dict[str, Any]:
    return {"share_snapshot_export_locations": req.views(view, _shown(req, which))}


def _location(req: Request, view: type[View], which: ColumnElement[bool], id: str) -> dict[str, Any]:
    for found in _shown(req, which, SnapshotExportLocation.id == id):
        return {"share_snapshot_export_location": req.view(view, found)}
    raise NotFound(f"Snapshot export location {id} could not be found.")
