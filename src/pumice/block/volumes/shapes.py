"""Request bodies and answers about volumes (section 7 of the API)."""

from __future__ import annotations

import datetime
import functools
import uuid
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, UnsetType

from pumice.block.volumes.model import Volume
from pumice.kernel.api.fields import Named, Since
from pumice.kernel.api.shapes import Alias, Shape
from pumice.kernel.api.values import Boolean, Description, Metadata, Name, Size, Text, Uuid, Word
from pumice.kernel.api.views import Guarded, Mapped, Of, OmitNone, View

if TYPE_CHECKING:
    from pumice.block.attachments.model import Attachment
    from pumice.kernel.api.request import Request


_SERVICES = uuid.UUID("c1f8f7a4-52f1-4a0e-9c56-7a2f9b0d3e61")
"""Namespace of the ids of services."""


class NewVolume(Shape, strict="3.53"):
    size: Size | None = None
    name: Annotated[Name | None, Alias("display_name")] = None
    description: Annotated[Description | None, Alias("display_description")] = None
    volume_type: Word | None = None
    metadata: Metadata | None = None
    availability_zone: Text | None = None
    multiattach: Boolean = False
    snapshot_id: Uuid | None = None
    source_volid: Uuid | None = None
    consistencygroup_id: Uuid | None = None
    image_id: Annotated[Text | None, Alias("imageRef")] = None
    group_id: Annotated[Uuid | None, Since("3.13")] = None
    backup_id: Annotated[Uuid | None, Since("3.47")] = None


class CreateVolume(Shape, strict="3.53"):
    volume: NewVolume
    hints: Annotated[dict[str, Any] | None, Named("OS-SCH-HNT:scheduler_hints")] = None


class VolumeChange(Shape, strict="3.53"):
    name: Annotated[Name | UnsetType | None, Alias("display_name")] = UNSET
    description: Annotated[Description | UnsetType | None, Alias("display_description")] = UNSET
    metadata: Metadata | UnsetType = UNSET


class UpdateVolume(Shape, strict="3.53"):
    volume: VolumeChange


def admin_value(value_of: str) -> Of:
    return Of(lambda volume, req: getattr(volume, value_of) if req.context.is_admin else None)


_HIDDEN_STATUSES = {"managing": "creating", "error_managing": "error", "error_managing_deleting": "deleting"}


def _shown_status(volume: Volume, _req: Request) -> str:
    status = volume.status
    return _HIDDEN_STATUSES.get(status, status)


def _host_name(attachment: Attachment, req: Request) -> str | None:
    """Where a volume is attached says something about the cloud's hosts, which is not for everyone."""
    trusted = req.context.is_admin or "service" in req.context.roles
    return attachment.attached_host if trusted else None


@functools.lru_cache(maxsize=1024)
def _uuid_of(backend: str) -> str:
    return str(uuid.uuid5(_SERVICES, backend))


def _service_uuid(volume: Volume, _req: Request) -> str | None:
    """An id of the service that has the volume; it follows from the backend's name."""
    return _uuid_of(volume.backend) if volume.host else None


class AttachmentOfVolume(View):
    id: Annotated[str, Of(lambda row, _req: row.volume_id)]
    attachment_id: Annotated[str, Of(lambda row, _req: row.id)]
    volume_id: str
    server_id: Annotated[str | None, Of(lambda row, _req: row.instance_uuid)]
    host_name: Annotated[str | None, Of(_host_name)]
    device: Annotated[str | None, Of(lambda row, _req: row.mountpoint)]
    attached_at: datetime.datetime | None


class VolumeSummary(View):
    id: str
    name: str | None
    links: Annotated[list[dict[str, str]], Of(lambda row, req: req.links("volumes", row.id))]


class VolumeView(View):
    """What create and update answer; the lists with details and show add to it."""

    id: str
    status: Annotated[str, Of(_shown_status)]
    size: int
    availability_zone: str | None
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    name: str | None
    description: str | None
    volume_type: Annotated[str | None, Of(lambda row, _req: row.type_name)]
    snapshot_id: str | None
    source_volid: str | None
    metadata: Annotated[dict[str, str], Of(lambda row, _req: row.meta | row.admin_meta if row.admin_meta else row.meta)]
    links: Annotated[list[dict[str, str]], Of(lambda row, req: req.links("volumes", row.id))]
    user_id: str | None
    bootable: Annotated[str, Of(lambda row, _req: "true" if row.bootable else "false")]
    encrypted: Annotated[bool, Of(lambda row, _req: row.encryption_key_id is not None)]
    replication_status: str | None
    consistencygroup_id: str | None
    multiattach: bool
    attachments: Annotated[
        list[AttachmentOfVolume], Of(lambda row, _req: [one for one in row.attachments if one.status == "attached"])
    ]
    migration_status: Annotated[str | None, admin_value("migration_status")]
    group_id: Annotated[str | None, Since("3.13")]
    provider_id: Annotated[str | None, Since("3.21"), Guarded("context_is_admin")]
    shared_targets: Annotated[bool | None, Since("3.48"), Mapped("3.69", lambda shared: shared is not False)]
    service_uuid: Annotated[str | None, Since("3.48"), Of(_service_uuid)]
    cluster_name: Annotated[str | None, Since("3.61"), Guarded("context_is_admin")]
    volume_type_id: Annotated[str | None, Since("3.63")]
    encryption_key_id: Annotated[str | None, Since("3.64"), OmitNone()]
    consumes_quota: Annotated[bool, Since("3.65")]


class VolumeDetail(VolumeView):
    host: Annotated[str | None, Named("os-vol-host-attr:host"), Guarded("volume_extension:volume_host_attribute")]
    project_id: Annotated[
        str, Named("os-vol-tenant-attr:tenant_id"), Guarded("volume_extension:volume_tenant_attribute")
    ]
    migstat: Annotated[
        str | None,
        Named("os-vol-mig-status-attr:migstat"),
        Of(lambda row, _req: row.migration_status),
        Guarded("volume_extension:volume_mig_status_attribute"),
    ]
    name_id: Annotated[
        str | None,
        Named("os-vol-mig-status-attr:name_id"),
        Of(lambda _row, _req: None),
        Guarded("volume_extension:volume_mig_status_attribute"),
    ]
    volume_image_metadata: Annotated[
        dict[str, Any] | None,
        Of(lambda row, _req: row.image_meta or None),
        OmitNone(),
        Guarded("volume_extension:volume_image_metadata:show"),
    ]
