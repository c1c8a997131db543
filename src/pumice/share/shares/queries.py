"""Reading shares: lists, and what an answer needs besides a share's own row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, and_, exists, false, or_, true
from sqlalchemy.orm import Session

from pumice.kernel.db.filters import dictionary, flag, pairs
from pumice.kernel.db.paging import Filter, Listing, Page
from pumice.kernel.db.records import children, hang
from pumice.kernel.db.scope import everything
from pumice.share.projection import DEFERRED
from pumice.share.shares.model import SEE_DEFERRED, ExportLocation, Share
from pumice.share.shares.shapes import LAST_WITH_LOCATIONS
from pumice.share.types.model import ShareType

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


def _of_type(value: str, _req: Request) -> ColumnElement[bool]:
    """The type of that id or name."""
    named = everything().columns(ShareType, ShareType.id).where(or_(ShareType.id == value, ShareType.name == value))
    return Share.share_type_id.in_(named)


def _with_specs(value: str, _req: Request) -> ColumnElement[bool]:
    of_type = [ShareType.extra_specs[str(key)].as_string() == str(spec) for key, spec in dictionary(value).items()]
    return Share.share_type_id.in_(everything().columns(ShareType, ShareType.id).where(and_(true(), *of_type)))


def _admins(rule: str, column: Any) -> Any:
    """A filter for those whom the rule lets filter by it."""

    def condition(value: str, req: Request) -> ColumnElement[bool]:
        req.authorize(rule)
        wanted: ColumnElement[bool] = column == value
        return wanted

    return condition


def _location(column: Any) -> Any:
    def condition(value: str, _req: Request) -> ColumnElement[bool]:
        return exists().where(ExportLocation.share_id == Share.id, column == value)

    return condition


SHARES: Listing[Share] = Listing(
    Share,
    "share",
    configured=(
        "name",
        "display_name",
        "description",
        "status",
        "share_server_id",
        "share_type_id",
        "volume_type_id",
        "snapshot_id",
        "host",
        "share_network_id",
        "is_public",
        "metadata",
        "extra_specs",
        "share_group_id",
        "share_group_snapshot_id",
        "export_location_id",
        "export_location_path",
        "is_soft_deleted",
        "availability_zone",
        "mount_point_name",
        "project_id",
    ),
    filters=(
        Filter("name", Share.name),
        Filter("display_name", Share.name),
        Filter("description", Share.description, since="2.36"),
        Filter("share_type_id", _of_type),
        Filter("volume_type_id", _of_type),
        Filter("share_type", _of_type),
        Filter("host", _admins("share:list_by_host", Share.host)),
        Filter("share_server_id", lambda _value, req: _never(req, "share:list_by_share_server_id")),
        Filter("share_network_id", lambda _value, _req: false()),
        Filter("share_group_snapshot_id", lambda _value, _req: false()),
        Filter("is_public", lambda _value, _req: true()),
        Filter("metadata", Share.meta, pairs),
        Filter("extra_specs", _with_specs),
        Filter("share_proto", Share.proto),
        Filter("export_location_id", _location(ExportLocation.id), since="2.35"),
        Filter("export_location_path", _location(ExportLocation.path), since="2.35"),
        Filter("is_soft_deleted", Share.is_soft_deleted, flag(), since="2.69"),
        Filter("encryption_key_ref", Share.encryption_key_ref, since="2.90"),
        Filter("availability_zone", Share.availability_zone, since="2.97"),
    ),
    sort={
        "id": Share.id,
        "status": Share.status,
        "size": Share.size,
        "host": Share.host,
        "share_proto": Share.proto,
        "availability_zone": Share.availability_zone,
        "availability_zone_id": Share.availability_zone,
        "user_id": Share.user_id,
        "project_id": Share.project_id,
        "name": Share.name,
        "display_name": Share.name,
        "description": Share.description,
        "created_at": Share.created_at,
        "updated_at": Share.updated_at,
        "share_type": Share.share_type_id,
        "share_type_id": Share.share_type_id,
        "snapshot_id": Share.snapshot_id,
        "snapshot": Share.snapshot_id,
        # Shares without networks are all alike in these.
        "share_network": Share.created_at,
        "share_network_id": Share.created_at,
    },
    count_from="2.42",
)


def _never(req: Request, rule: str) -> ColumnElement[bool]:
    """A filter on what no share has, for those whom the rule lets filter by it."""
    req.authorize(rule)
    return false()


def page(tx: Session, req: Request) -> Page[Share]:
    """The shares that a list is made of: the caller's own, and with is_public=true those of others that are public."""
    where: list[ColumnElement[bool]] = []
    if "is_soft_deleted" not in req.query or req.version < "2.69":
        where.append(Share.is_soft_deleted.is_(False))
    if not req.allowed(SEE_DEFERRED):
        where.append(Share.status.not_in(DEFERRED))
    scope = req.list_scope_by("share:list_all_projects")
    if scope.project_id is not None and not req.query.boolean("is_public"):
        where.append(Share.project_id == req.context.project_id)
    return SHARES.page(tx, req, scope=scope, where=where)


def dress(tx: Session, req: Request, shares: Sequence[Share]) -> Sequence[Share]:
    """Give shares their export locations, where the answer shows them: one query, whatever the number."""
    if req.version > LAST_WITH_LOCATIONS:
        return shares
    locations = children(tx, ExportLocation.share_id, [share.id for share in shares])
    hang(shares, "locations", locations, otherwise=())
    return shares
