"""The routes of transfers (section 15 of the API)."""

from __future__ import annotations

from pumice.kernel.api.routes import ADMIN, READER, Route, Rule
from pumice.share.transfers import handlers
from pumice.share.transfers.model import ShareTransfer
from pumice.share.transfers.shapes import AcceptTransfer, CreateTransfer, TransferDetail, TransferSummary

TRANSFERS, ONE = "/share-transfers", "/share-transfers/{id}"

ROUTES: list[Route] = [
    Route(
        "GET",
        f"{TRANSFERS}/detail",
        handlers.detail,
        "share_transfer:get_all",
        READER,
        since="2.77",
        answer={"transfers": list[TransferDetail]},
    ),
    Route(
        "GET",
        TRANSFERS,
        handlers.index,
        "share_transfer:get_all",
        READER,
        since="2.77",
        answer={"transfers": list[TransferSummary]},
    ),
    Route(
        "POST",
        TRANSFERS,
        handlers.create,
        "share_transfer:create",
        since="2.77",
        body=CreateTransfer,
        success=202,
        answer={"transfer": TransferDetail},
    ),
    Route(
        "GET",
        ONE,
        handlers.show,
        "share_transfer:get",
        READER,
        since="2.77",
        load=ShareTransfer,
        answer={"transfer": TransferDetail},
    ),
    Route("DELETE", ONE, handlers.delete, "share_transfer:delete", since="2.77", load=ShareTransfer),
    Route(
        "POST",
        f"{ONE}/accept",
        handlers.accept,
        "share_transfer:accept",
        since="2.77",
        body=AcceptTransfer,
        success=202,
    ),
]

RULES: list[Rule] = [
    Rule(name="share_transfer:get_all_tenant", check=ADMIN, doc="List the transfers of all projects."),
]
