"""Snapshots on the wire (section 9 of the API)."""

from __future__ import annotations

import datetime
from typing import Annotated, Any

from msgspec import UNSET, UnsetType, field

from pumice.kernel.api.fields import Named, Since
from pumice.kernel.api.shapes import Alias, Shape
from pumice.kernel.api.values import Boolean, Name, Text, one_of
from pumice.kernel.api.views import Guarded, Of, View
from pumice.kernel.errors import Unprocessable
from pumice.kernel.metadata import WideMetadata
from pumice.share.snapshots.moves import STATUSES

ADMIN_FIELDS = "context_is_admin"


class NewSnapshot(Shape):
    """`force` has no say."""

    share_id: Text
    name: Annotated[Name | None, Alias("display_name")] = None
    description: Annotated[Text | None, Alias("display_description")] = None
    force: Boolean | None = None
    metadata: Annotated[WideMetadata | None, Since("2.73")] = None


class CreateSnapshot(Shape, missing=Unprocessable):
    snapshot: NewSnapshot


class ManagedSnapshot(Shape):
    """The handler looks at the two that must be given, as they are refused in another way than the rest."""

    share_id: Any = None
    provider_location: Any = None
    name: Annotated[Name | None, Alias("display_name")] = None
    description: Annotated[Text | None, Alias("display_description")] = None
    driver_options: dict[str, Any] = field(default_factory=dict)
    metadata: Annotated[WideMetadata | None, Since("2.73")] = None


class ManageSnapshot(Shape, missing=Unprocessable):
    snapshot: ManagedSnapshot


class SnapshotChange(Shape):
    name: Annotated[Name | UnsetType | None, Named("display_name"), Alias("name")] = UNSET
    description: Annotated[Text | UnsetType | None, Named("display_description"), Alias("description")] = UNSET


class UpdateSnapshot(Shape, missing=Unprocessable):
    snapshot: SnapshotChange


class ResetStatus(Shape):
    status: Annotated[str, one_of(*STATUSES)]


Links = list[dict[str, str]]


class SnapshotSummary(View):
    id: str
    name: str | None
    links: Annotated[Links, Of(lambda row, req: req.links("snapshots", row.id))]


class SnapshotDetail(SnapshotSummary):
    share_id: str
    share_size: Annotated[int, Of(lambda row, _: row.size)]
    created_at: datetime.datetime
    status: str
    description: str | None
    size: int
    share_proto: Annotated[str, Of(lambda row, _: row.proto)]
    provider_location: Annotated[str | None, Since("2.12"), Guarded(ADMIN_FIELDS)]
    user_id: Annotated[str | None, Since("2.17")]
    project_id: Annotated[str, Since("2.17")]
    metadata: Annotated[dict[str, str], Since("2.73"), Of(lambda row, _: row.meta)]


class InstanceSummary(View):
    id: str
    snapshot_id: str
    status: str


class InstanceDetail(InstanceSummary):
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    share_id: str
    share_instance_id: str
    progress: str | None
    provider_location: str | None


class LocationSummary(View):
    id: str
    path: str
    links: Annotated[Links, Of(lambda row, req: req.links("share_snapshot_export_locations", row.id))]


class LocationDetail(LocationSummary):
    created_at: datetime.datetime
    updated_at: datetime.datetime | None


class InstanceExportLocation(LocationSummary):
    """As administrators see it."""

    share_snapshot_instance_id: Annotated[str, Of(lambda row, _: row.snapshot_instance_id)]
    is_admin_only: bool


class InstanceExportDetail(InstanceExportLocation):
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
