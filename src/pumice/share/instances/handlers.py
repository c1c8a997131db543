"""Share instances, which administrators see (section 8 of the API)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, exists
from sqlalchemy.orm import Session

from pumice.kernel import moves
from pumice.kernel.api.values import boolean_word
from pumice.kernel.db.paging import Filter, Listing
from pumice.kernel.db.records import children, hang
from pumice.kernel.db.scope import everything
from pumice.share.instances.shapes import InstanceDetail
from pumice.share.shares.actions import set_status
from pumice.share.shares.deletion import delete
from pumice.share.shares.model import ExportLocation, Share, ShareInstance
from pumice.share.shares.shapes import LAST_WITH_LOCATIONS

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


def _location(column: Any) -> Any:
    def condition(value: str, _req: Request) -> ColumnElement[bool]:
        return exists().where(ExportLocation.share_instance_id == ShareInstance.id, column == value)

    return condition


def _recycled(value: str, _req: Request) -> ColumnElement[bool]:
    recycled = exists().where(Share.id == ShareInstance.share_id, Share.is_soft_deleted)
    return recycled if boolean_word(value) else ~recycled


INSTANCES: Listing[ShareInstance] = Listing(
    ShareInstance,
    "share_instance",
    filters=(
        Filter("export_location_id", _location(ExportLocation.id), since="2.35"),
        Filter("export_location_path", _location(ExportLocation.path), since="2.35"),
        Filter("is_soft_deleted", _recycled, since="2.69"),
    ),
    sort={"id": ShareInstance.id, "status": ShareInstance.status, "host": ShareInstance.host},
)


def index(req: Request) -> dict[str, Any]:
    return _list(req)


def of_share(req: Request, share: Share) -> dict[str, Any]:
    return _list(req, ShareInstance.share_id == share.id)


def _list(req: Request, *where: ColumnElement[bool]) -> dict[str, Any]:
    with req.service.db.read() as tx:
        page = INSTANCES.page(tx, req, scope=everything(), where=where)
        _dress(tx, req, page.rows)
    return req.page("share_instances", InstanceDetail, page)


def show(req: Request, instance: ShareInstance) -> dict[str, Any]:
    with req.service.db.read() as tx:
        _dress(tx, req, [instance])
    return {"share_instance": req.view(InstanceDetail, instance)}


def _dress(tx: Session, req: Request, instances: Sequence[ShareInstance]) -> None:
    """Give instances their export locations, where the answer shows them: one query, whatever the number."""
    if req.version > LAST_WITH_LOCATIONS:
        return
    locations = children(tx, ExportLocation.share_instance_id, [one.id for one in instances])
    hang(instances, "locations", locations, otherwise=())


def reset_status(req: Request, instance: ShareInstance) -> None:
    def work(tx: Session) -> None:
        moves.lock(tx, Share, instance.share_id)
        set_status(tx, req, instance, req.body.status)

    req.service.db.write(work)


def force_delete(req: Request, instance: ShareInstance) -> None:
    """A share's only instance takes the share along."""
    with req.service.db.read() as tx:
        share = everything().get(tx, Share, instance.share_id)
    delete(req, share, force=True)
