"""Transfers of shares over the API."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.kernel.db.base import new_id
from pumice.kernel.db.paging import Listing
from pumice.share.shares.model import Share
from pumice.share.transfers import offers
from pumice.share.transfers.model import ShareTransfer
from pumice.share.transfers.shapes import TransferDetail, TransferSummary

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request
    from pumice.kernel.api.views import View

TRANSFERS: Listing[ShareTransfer] = Listing(
    ShareTransfer,
    "share_transfer",
    configured=("name",),
    sort={
        "id": ShareTransfer.id,
        "name": ShareTransfer.name,
        "created_at": ShareTransfer.created_at,
        "expires_at": ShareTransfer.expires_at,
    },
    secret=frozenset(("salt", "key_hash")),
)


def index(req: Request) -> dict[str, Any]:
    return _page(req, TransferSummary)


def detail(req: Request) -> dict[str, Any]:
    return _page(req, TransferDetail)


def _page(req: Request, view: type[View]) -> dict[str, Any]:
    with req.service.db.read() as tx:
        page = TRANSFERS.page(tx, req, scope=req.list_scope_by("share_transfer:get_all_tenant"))
    return req.page("transfers", view, page)


def show(req: Request, transfer: ShareTransfer) -> dict[str, Any]:
    return {"transfer": req.view(TransferDetail, transfer)}


def create(req: Request) -> dict[str, Any]:
    length = req.service.conf.share_transfer_key_length
    transfer_id, key = new_id(), secrets.token_hex(length)[:length]

    def work(tx: Session) -> ShareTransfer:
        share = req.get(tx, Share, req.body.transfer.share_id)
        req.authorize("share_transfer:create", {"project_id": share.project_id, "user_id": share.user_id})
        return offers.offer(tx, req, share.id, id=transfer_id, key=key)

    return {"transfer": req.view(TransferDetail, req.service.db.write(work)) | {"auth_key": key}}


def delete(req: Request, transfer: ShareTransfer) -> None:
    req.service.db.write(lambda tx: offers.withdraw(tx, req, transfer.id))


def accept(req: Request, id: str) -> None:
    req.service.db.write(lambda tx: offers.accept(tx, req, id))
