"""User messages over the API (section 20)."""

from __future__ import annotations

import datetime
from typing import Annotated

from pumice.kernel.api.fields import Named
from pumice.kernel.api.views import Of, View
from pumice.kernel.db.filters import not_after, not_before, text
from pumice.kernel.db.paging import Filter, Listing
from pumice.kernel.messageroutes import MessagesOf
from pumice.kernel.messages import Message, user_message
from pumice.share.message_codes import Action, Detail

FILTERS = {
    "request_id": Message.request_id,
    "resource_type": Message.resource_type,
    "resource_id": Message.resource_uuid,
    "action_id": Message.action_id,
    "detail_id": Message.detail_id,
    "message_level": Message.message_level,
}
TIMES_FROM = "2.52"


MESSAGES = Listing(
    Message,
    "message",
    configured=(*FILTERS, "created_since", "created_before"),
    filters=(
        *(Filter(name, column, text) for name, column in FILTERS.items()),
        Filter("created_since", Message.created_at, not_before, since=TIMES_FROM),
        Filter("created_before", Message.created_at, not_after, since=TIMES_FROM),
    ),
    sort={**FILTERS, "project_id": Message.project_id, "expires_at": Message.expires_at},
)


class MessageDetail(View):
    id: str
    project_id: str
    action_id: str
    detail_id: str
    message_level: str
    created_at: datetime.datetime
    expires_at: datetime.datetime
    request_id: str | None
    resource_type: str | None
    resource_uuid: Annotated[str | None, Named("resource_id")]
    user_message: Annotated[str, Of(lambda row, _: user_message(row, Action, Detail, ": "))]
    links: Annotated[list[dict[str, str]], Of(lambda row, req: req.links("messages", row.id))]


ROUTES = MessagesOf(MESSAGES, MessageDetail, since="2.37").routes()
