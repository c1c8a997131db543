"""Operations over the API: our own addition to it, the same in every service.

Accepted requests answer with their operation's id in a header; here is how it goes on.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Annotated, Any

from pumice.kernel.api.routes import READER, Route
from pumice.kernel.api.views import Of, View
from pumice.kernel.db.filters import text
from pumice.kernel.db.paging import Filter, Listing
from pumice.kernel.errors import NotFound
from pumice.kernel.operations.model import Operation

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

FILTERS = {
    "state": Operation.state,
    "kind": Operation.kind,
    "resource_id": Operation.resource_id,
    "resource_type": Operation.resource_type,
}

OPERATIONS = Listing(
    Operation,
    "operation",
    configured=tuple(FILTERS),
    filters=tuple(Filter(name, column, text) for name, column in FILTERS.items()),
    sort={**FILTERS, "finished_at": Operation.finished_at},
    secret=frozenset({"args", "checkpoint"}),
)


def _error(row: Operation, req: Request) -> str | None:
    """What a backend or the scheduler said is for operators; users have messages."""
    if row.error is None or req.context.is_admin:
        return row.error
    return "It failed: the messages about the resource say why."


class OperationDetail(View):
    """What may be told of an operation; `progress` is in percent, null where nobody measures it."""

    id: str
    kind: str
    resource_type: str
    resource_id: str
    state: str
    step: str
    progress: float | None
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    finished_at: datetime.datetime | None
    error: Annotated[str | None, Of(_error)]
    request_id: str | None
    project_id: str


def index(req: Request) -> dict[str, Any]:
    """All operations for admins; for others those of their project that are theirs to see."""
    where = [] if req.context.is_admin else [Operation.shown.is_(True)]
    with req.service.db.read() as tx:
        page = OPERATIONS.page(tx, req, scope=req.scope, where=where)
    return req.page("operations", OperationDetail, page)


def show(req: Request, row: Operation) -> dict[str, Any]:
    if not (row.shown or req.context.is_admin):
        raise NotFound(f"Operation {row.id} could not be found.")
    return {"operation": req.view(OperationDetail, row)}


ROUTES = [
    Route("GET", "/operations", index, "operation:get_all", READER, answer={"operations": list[OperationDetail]}),
    Route(
        "GET", "/operations/{id}", show, "operation:get", READER, load=Operation, answer={"operation": OperationDetail}
    ),
]
