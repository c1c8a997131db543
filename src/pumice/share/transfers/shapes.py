"""Request bodies and answers about transfers (section 15 of the API)."""

from __future__ import annotations

import datetime
from typing import Annotated

from pumice.kernel.api.shapes import Shape
from pumice.kernel.api.values import Boolean, Name, Uuid, text
from pumice.kernel.api.views import Of, View

Key = Annotated[str, text(1, 255)]


class NewTransfer(Shape):
    share_id: Uuid
    name: Name | None = None


class CreateTransfer(Shape):
    transfer: NewTransfer


class Acceptance(Shape):
    auth_key: Key
    clear_access_rules: Boolean = False


class AcceptTransfer(Shape):
    accept: Acceptance


class TransferSummary(View):
    id: str
    name: str | None
    resource_type: Annotated[str, Of(lambda _row, _req: "share")]
    resource_id: Annotated[str, Of(lambda row, _req: row.share_id)]
    links: Annotated[list[dict[str, str]], Of(lambda row, req: req.links("share-transfers", row.id))]


class TransferDetail(TransferSummary):
    """A transfer goes with its acceptance, so that no one shows a destination."""

    created_at: datetime.datetime
    source_project_id: Annotated[str, Of(lambda row, _req: row.project_id)]
    destination_project_id: Annotated[str | None, Of(lambda _row, _req: None)]
    accepted: Annotated[bool, Of(lambda _row, _req: False)]
    expires_at: datetime.datetime
