"""Request bodies and answers about attachments (section 9 of the API)."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Annotated, Any

from pumice.kernel.api.fields import Named, Since
from pumice.kernel.api.shapes import Shape
from pumice.kernel.api.values import AttachMode, Text, Uuid, Value, Word, shown
from pumice.kernel.api.views import Of, View

if TYPE_CHECKING:
    from pumice.block.attachments.model import Attachment
    from pumice.kernel.api.request import Request


FACTS = ("host", "initiator", "ip", "mountpoint")
"""The facts of a connector that are looked at here; the others are the driver's."""


def _connector(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{shown(value)} is refused: an object with the facts of the host that connects is allowed")
    for name in FACTS:
        fact = value.get(name)
        if fact is not None and not (isinstance(fact, str) and 0 < len(fact) <= 255):
            raise ValueError(f"{shown(fact)} is refused as `{name}`: text of 1 to 255 characters is allowed")
    return value


def _connector_of_host(value: Any) -> dict[str, Any]:
    connector = _connector(value)
    if connector.get("host") is None:
        raise ValueError("the key `host` is missing: the name of the host that connects is needed")
    return connector


GivenConnector = Annotated[dict[str, Any], Value(_connector, {"type": "object"})]
ConnectorOfHost = Annotated[dict[str, Any], Value(_connector_of_host, {"type": "object", "required": ["host"]})]


class NewAttachment(Shape, strict=True):
    volume_uuid: Uuid
    instance_uuid: Uuid | None = None
    connector: GivenConnector | None = None
    mode: Annotated[AttachMode | None, Since("3.54")] = None


class CreateAttachment(Shape, strict=True):
    attachment: NewAttachment


class AttachmentChange(Shape, strict=True):
    connector: ConnectorOfHost


class UpdateAttachment(Shape, strict=True):
    attachment: AttachmentChange


def _connection_info(row: Attachment, req: Request) -> dict[str, Any]:
    """What it takes to use the volume, its password included: only for those who might have connected it."""
    owner = {"project_id": row.project_id, "user_id": row.user_id}
    if row.connection is None or not req.allowed("volume:attachment_update", owner):
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
    connector: GivenConnector


class Disconnect(Shape, strict=True):
    connector: GivenConnector | None


class ForceDetach(Shape, strict=True):
    attachment_id: Text | None = None
    connector: GivenConnector | None = None
