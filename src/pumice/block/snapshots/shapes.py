"""Request bodies and answers about snapshots (section 8 of the API)."""

from __future__ import annotations

import datetime
from typing import Annotated

from msgspec import UNSET, UnsetType

from pumice.block.snapshots.moves import STATUSES
from pumice.kernel.api.fields import Named, Since
from pumice.kernel.api.shapes import Alias, Shape
from pumice.kernel.api.values import Boolean, Description, Metadata, Name, Progress, Uuid, one_of
from pumice.kernel.api.views import Guarded, Of, View

SnapshotStatus = Annotated[str, one_of(*sorted(STATUSES))]


class NewSnapshot(Shape, strict=True):
    volume_id: Uuid | None
    name: Annotated[Name | None, Alias("display_name")] = None
    description: Annotated[Description | None, Alias("display_description")] = None
    force: Boolean | UnsetType = UNSET
    metadata: Metadata | None = None


class CreateSnapshot(Shape, strict=True):
    snapshot: NewSnapshot


class SnapshotChange(Shape, strict=True):
    name: Annotated[Name | UnsetType | None, Alias("display_name")] = UNSET
    description: Annotated[Description | UnsetType | None, Alias("display_description")] = UNSET


class UpdateSnapshot(Shape, strict=True):
    snapshot: SnapshotChange


class ResetStatus(Shape, strict=True):
    status: SnapshotStatus


class UpdateStatus(Shape, strict=True):
    status: SnapshotStatus
    progress: Progress | None = None


class SnapshotView(View):
    """What lists, create and update answer; show and the list with details add to it."""

    id: str
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    name: str | None
    description: str | None
    volume_id: str
    status: str
    size: int
    metadata: Annotated[dict[str, str], Of(lambda row, _req: row.meta)]


class SnapshotNewView(SnapshotView):
    group_snapshot_id: Annotated[str | None, Since("3.14")]
    user_id: Annotated[str | None, Since("3.41")]
    consumes_quota: Annotated[bool, Since("3.65")]


class SnapshotDetail(SnapshotNewView):
    progress: Annotated[
        str,
        Named("os-extended-snapshot-attributes:progress"),
        Of(lambda row, _req: row.progress or "0%"),
        Guarded("volume_extension:extended_snapshot_attributes"),
    ]
    project_id: Annotated[
        str,
        Named("os-extended-snapshot-attributes:project_id"),
        Guarded("volume_extension:extended_snapshot_attributes"),
    ]
