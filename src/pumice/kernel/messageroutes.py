"""User messages over the API: the three routes, the same for every service."""

from __future__ import annotations

from dataclasses import dataclass
from types import GenericAlias
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.kernel.api.routes import MEMBER, READER, Handler, Route
from pumice.kernel.messages import Message

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request
    from pumice.kernel.api.views import View
    from pumice.kernel.db.paging import Listing


@dataclass(frozen=True, slots=True)
class MessagesOf:
    """:param since: first version with messages"""

    listing: Listing[Message]
    view: type[View]
    since: str

    def routes(self) -> list[Route]:
        one = "/messages/{id}"

        def row(method: str, path: str, handler: Handler, rule: str, check: str = READER, **more: Any) -> Route:
            return Route(method, path, handler, f"message:{rule}", check, since=self.since, **more)

        return [
            row("GET", "/messages", self.index, "get_all", answer={"messages": GenericAlias(list, self.view)}),
            row("GET", one, self.show, "get", load=Message, answer={"message": self.view}),
            row("DELETE", one, self.remove, "delete", MEMBER, load=Message, success=204),
        ]

    def index(self, req: Request) -> dict[str, Any]:
        with req.service.db.read() as tx:
            page = self.listing.page(tx, req)
        return req.page("messages", self.view, page)

    def show(self, req: Request, row: Message) -> dict[str, Any]:
        return {"message": req.view(self.view, row)}

    def remove(self, req: Request, row: Message) -> None:
        def work(tx: Session) -> None:
            tx.delete(req.scope.get(tx, Message, row.id))

        req.service.db.write(work)
