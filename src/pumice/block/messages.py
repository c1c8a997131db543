"""User messages over the API (section 12)."""

from __future__ import annotations

import datetime
from typing import Annotated

from pumice.block.message_codes import Action, Detail
from pumice.kernel.api.views import Of, OmitNone, View
from pumice.kernel.db.filters import text
from pumice.kernel.db.paging import Filter, Listing
from pumice.kernel.messageroutes import MessagesOf
from pumice.kernel.messages import Message, user_message

FILTERS = {
    "resource_uuid": Message.resource_uuid,
    "resource_type": Message.resource_type,
    "event_id": Message.event_id,
    "request_id": Message.request_id,
    "message_level": Message.message_level,
}

MESSAGES = Listing(
    Message,
    "message",
    configured=tuple(FILTERS),
    filters=tuple(Filter(name, column, text) for name, column in FILTERS.items()),
    sort={**FILTERS, "guaranteed_until": Message.expires_at},
    pages_from="3.5",
)


class MessageDetail(View):
    id: str
    event_id: str
    user_message: Annotated[str, Of(lambda row, _: user_message(row, Action, Detail, ":"))]
    message_level: str
    created_at: datetime.datetime
    guaranteed_until: Annotated[datetime.datetime, Of(lambda row, _: row.expires_at)]
    request_id: str | None
    resource_type: Annotated[str | None, OmitNone()]
    resource_uuid: Annotated[str | None, OmitNone()]
    links: Annotated[list[dict[str, str]], Of(lambda row, req: req.links("messages", row.id))]


ROUTES = MessagesOf(MESSAGES, MessageDetail, since="3.3").routes()
