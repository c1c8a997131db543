"""Request bodies and answers about shares (section 5 of the API)."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, UnsetType

from pumice.kernel.api.fields import Named, Since, Until
from pumice.kernel.api.shapes import Alias, Shape
from pumice.kernel.api.values import UINT31, Boolean, Name, Text, Uuid, Value, Word, integer, one_of, text
from pumice.kernel.api.views import Guarded, Of, View
from pumice.kernel.errors import Unprocessable
from pumice.kernel.metadata import WideMetadata
from pumice.share.options import PROTOCOLS

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request
    from pumice.share.shares.model import Share


def _protocol(value: Any) -> str:
    word = value.upper() if isinstance(value, str) else value
    parsed: str = one_of(*PROTOCOLS).parse(word)
    return parsed


LAST_WITH_LOCATIONS = "2.8"
"""The last version at which shares show their export locations."""

Protocol = Annotated[str, Value(_protocol, {"enum": list(PROTOCOLS)})]
Size = Annotated[int, integer(0, unit="GiB")]
NewSize = Annotated[int, integer(1, UINT31, unit="GiB")]
Description = Annotated[str, text(0, 255)]


class NewShare(Shape):
    share_proto: Protocol
    size: Size | None = None
    name: Annotated[Name | None, Alias("display_name")] = None
    description: Annotated[Description | None, Alias("display_description")] = None
    share_type: Text | None = None
    volume_type: Text | None = None
    share_network_id: Text | None = None
    snapshot_id: Text | None = None
    is_public: Boolean = False
    metadata: WideMetadata | None = None
    availability_zone: Text | None = None
    share_group_id: Annotated[Text | None, Since("2.31")] = None
    scheduler_hints: Annotated[dict[str, Any] | None, Since("2.65")] = None
    mount_point_name: Annotated[Text | None, Since("2.84")] = None
    encryption_key_ref: Annotated[Uuid | None, Since("2.90")] = None


class CreateShare(Shape, missing=Unprocessable):
    share: NewShare


class ShareChange(Shape):
    name: Annotated[Name | UnsetType | None, Named("display_name"), Alias("name")] = UNSET
    description: Annotated[Description | UnsetType | None, Named("display_description"), Alias("description")] = UNSET
    is_public: Boolean | UnsetType = UNSET


class UpdateShare(Shape, missing=Unprocessable):
    share: ShareChange


class Extend(Shape):
    new_size: NewSize
    force: Annotated[Boolean, Since("2.64")] = False


class Shrink(Shape):
    new_size: NewSize


class Revert(Shape):
    snapshot_id: Word


def shown_status(status: str, req: Request) -> str:
    return "creating" if status == "creating_from_snapshot" and req.version < "2.54" else status


def shown_rules_status(status: str, req: Request) -> str:
    return "out_of_sync" if status == "syncing" and req.version < "2.28" else status


def visible_locations(share: Share, req: Request) -> list[str]:
    """Paths by which the caller may mount a share, the preferred ones first."""
    rows = [one for one in share.locations if req.context.is_admin or not one.is_admin_only]
    return [one.path for one in sorted(rows, key=lambda one: (not one.preferred, one.created_at))]


class ShareSummary(View):
    id: str
    name: str | None
    links: Annotated[list[dict[str, str]], Of(lambda row, req: req.links("shares", row.id))]


class ShareDetail(View):
    id: str
    size: int
    availability_zone: str | None
    created_at: datetime.datetime
    status: Annotated[str, Of(lambda row, req: shown_status(row.status, req))]
    name: str | None
    description: str | None
    project_id: str
    snapshot_id: str | None
    share_network_id: Annotated[str | None, Of(lambda _row, _req: None)]
    share_proto: Annotated[str, Of(lambda row, _req: row.proto)]
    metadata: Annotated[dict[str, str], Of(lambda row, _req: row.meta)]
    share_type: Annotated[str | None, Of(lambda row, req: row.share_type_id if req.version >= "2.6" else row.type_name)]
    share_type_name: Annotated[str | None, Since("2.6"), Of(lambda row, _req: row.type_name)]
    volume_type: Annotated[str | None, Of(lambda row, _req: row.type_name)]
    links: Annotated[list[dict[str, str]], Of(lambda row, req: req.links("shares", row.id))]
    is_public: bool
    export_location: Annotated[
        str | None, Until(LAST_WITH_LOCATIONS), Of(lambda row, req: next(iter(visible_locations(row, req)), None))
    ]
    export_locations: Annotated[list[str], Until(LAST_WITH_LOCATIONS), Of(visible_locations)]
    snapshot_support: Annotated[bool, Since("2.2")]
    task_state: Annotated[str | None, Since("2.5")]
    access_rules_status: Annotated[
        str, Since("2.10"), Of(lambda row, req: shown_rules_status(row.access_rules_status, req))
    ]
    replication_type: Annotated[str | None, Since("2.11")]
    has_replicas: Annotated[bool, Since("2.11"), Of(lambda _row, _req: False)]
    user_id: Annotated[str | None, Since("2.16")]
    create_share_from_snapshot_support: Annotated[bool, Since("2.24")]
    revert_to_snapshot_support: Annotated[bool, Since("2.27")]
    share_group_id: Annotated[str | None, Since("2.31")]
    source_share_group_snapshot_member_id: Annotated[str | None, Since("2.31")]
    mount_snapshot_support: Annotated[bool, Since("2.32")]
    progress: Annotated[str | None, Since("2.54")]
    is_soft_deleted: Annotated[bool, Since("2.69")]
    scheduled_to_be_deleted_at: Annotated[datetime.datetime | None, Since("2.69")]
    source_backup_id: Annotated[str | None, Since("2.80")]
    encryption_key_ref: Annotated[str | None, Since("2.90")]
    snapshot_inherit_share_access_support: Annotated[bool, Since("2.99")]
    host: Annotated[str | None, Guarded("context_is_host_admin")]
    share_server_id: Annotated[str | None, Of(lambda _row, _req: None), Guarded("context_is_host_admin")]
