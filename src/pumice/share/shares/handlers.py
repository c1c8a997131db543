"""Shares: lists, show, create, update, delete (section 5 of the API)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.kernel import moves
from pumice.kernel.errors import BadRequest
from pumice.share.shares import rules
from pumice.share.shares.deletion import delete as accept_delete
from pumice.share.shares.model import Share
from pumice.share.shares.queries import dress, page
from pumice.share.shares.shapes import ShareDetail, ShareSummary

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


def index(req: Request) -> dict[str, Any]:
    with req.service.db.read() as tx:
        found = page(tx, req)
    return req.page("shares", ShareSummary, found)


def detail(req: Request) -> dict[str, Any]:
    with req.service.db.read() as tx:
        found = page(tx, req)
        dress(tx, req, found.rows)
    return req.page("shares", ShareDetail, found)


def show(req: Request, id: str) -> dict[str, Any]:
    with req.service.db.read() as tx:
        share = req.get(tx, Share, id)
        dress(tx, req, [share])
    return {"share": req.view(ShareDetail, share)}


def update(req: Request, share: Share) -> dict[str, Any]:
    changes = req.body.share.given()
    if changes.get("is_public"):
        req.authorize("share:set_public_share", {"project_id": share.project_id, "user_id": share.user_id})

    def work(tx: Session) -> Share:
        rules.refuse_recycled(moves.lock(tx, Share, share.id))
        changed = moves.touch(tx, Share, share.id, **changes)
        dress(tx, req, [changed])
        return changed

    return {"share": req.view(ShareDetail, req.service.db.write(work))}


def delete(req: Request, share: Share) -> None:
    if group := req.query.get("share_group_id"):
        raise BadRequest(f"share_group_id {group} is refused: share {share.id} is in no group.")
    accept_delete(req, share)
