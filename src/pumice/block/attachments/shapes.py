"""Request bodies and answers about attachments (section 9 of the API)."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Annotated, Any

from pumice.kernel.api.fields import Named, Since
from pumice.kernel.api.shapes import Shape
from pumice.kernel.api.values import AttachMode, Text, Uuid, Value, Word
from pumice.kernel.api.views import Of, View

if TYPE_CHECKING:
    from pumice.block.attachments.model import Attachment
    from pumice.kernel.api.request import Request


def _connector(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise ValueError("an object with the facts of the host that connects is allowed, and it may not be empty")
    if not isinstance(value.get("host"), str) or not value["host"] or len(value["host"]) > 255:
        raise ValueError("the key `host` is missing: text of 1 to 255 characters is allowed")
    return value


GivenConnector = Annotated[
    dict[str, Any], Value(_connector, {"type": "object", "minProperties": 1, "required": ["host"]})
]


class NewAttachment(Shape, strict=True):
    volume_uuid: Uuid
    instance_uuid: Uuid | None = None
    connector: dict[str, Any] | None = None
    mode: Annotated[AttachMode | None, Since("3.54")] = None


class CreateAttachment(Shape, strict=True):
    attachment: NewAttachment


class AttachmentChange(Shape, strict=True):
    connector: GivenConnector


class UpdateAttachment(Shape, strict=True):
    attachment: AttachmentChange


def _connection_info(row: Attachment, _req: Request) -> dict[str, Any]:
    if row.connection is None:
        return {}
    return {
        **row.connection["data"],
        "driver_volume_type": row.connection["driver_volume_type"],
        "attachment_id": row.id,
        "enforce_multipath": enforces_multipath(row.connector),
    }


def enforces_multipath(connector: dict[str, Any] | None) -> bool:
    return bool((connector or {}).get("enforce_multipath", False))


class AttachmentSummary(View):
    id: str
    status: str
    instance_uuid: Annotated[str | None, Named("instance")]
    volume_id: str


class AttachmentDetail(AttachmentSummary):
    attached_at: datetime.datetime | None
    detached_at: datetime.datetime | None
    attach_mode: str | None
    connection_info: Annotated[dict[str, Any], Of(_connection_info)]


class Attach(Shape, strict=True):
    mountpoint: Word
    mode: AttachMode = "rw"
    instance_uuid: Uuid | None = None
    host_name: Text | None = None


class Detach(Shape, strict=True):
    attachment_id: Uuid | None = None


class Connect(Shape, strict=True):
    connector: dict[str, Any] | str


class Disconnect(Shape, strict=True):
    connector: dict[str, Any] | str | None


class ForceDetach(Shape, strict=True):
    attachment_id: Text | None = None
    connector: dict[str, Any] | str | None = None
