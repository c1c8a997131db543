"""The first schema: volumes, snapshots, attachments, types, and the kernel's tables."""

from __future__ import annotations

from pumice.kernel.db.migrations.first import create_kernel_tables
from pumice.kernel.db.migrations.spelling import (
    create,
    document,
    flag,
    identified,
    key,
    listed,
    moving,
    number,
    owned,
    text,
    time,
)

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    create_kernel_tables()
    create(
        "default_volume_types",
        text("project_id"),
        key("volume_type_id"),
        primary=("project_id",),
    )
    create(
        "volume_type_access",
        key("type_id"),
        text("project_id", index=True),
        primary=("type_id", "project_id"),
    )
    create(
        "volume_types",
        text("description", null=True),
        flag("is_public"),
        document("extra_specs"),
        text("name"),
        *identified(),
        unique=("name",),
    )
    create(
        "volumes",
        number("size"),
        number("growing_gb"),
        text("name", null=True),
        text("description", null=True),
        text("availability_zone", null=True),
        key("volume_type_id", null=True, index=True),
        key("snapshot_id", null=True),
        key("source_volid", null=True),
        text("host", null=True, index=True),
        text("cluster_name", null=True),
        text("attach_status", 32),
        text("migration_status", 64, null=True),
        text("replication_status", 32),
        flag("bootable"),
        flag("multiattach"),
        flag("consumes_quota"),
        flag("shared_targets", null=True),
        text("provider_id", null=True),
        key("encryption_key_id", null=True),
        key("group_id", null=True),
        key("consistencygroup_id", null=True),
        time("launched_at", null=True),
        document("metadata"),
        document("admin_meta"),
        document("image_meta", null=True),
        *moving(listed=True),
    )
    listed("volumes")
    create(
        "snapshots",
        key("volume_id", index=True),
        number("size"),
        number("charged_gb"),
        text("name", null=True),
        text("description", null=True),
        key("volume_type_id", null=True),
        text("progress", 8, null=True),
        key("group_snapshot_id", null=True),
        flag("consumes_quota"),
        document("metadata"),
        *moving(listed=True),
        references={"volume_id": "volumes"},
    )
    listed("snapshots")
    create(
        "volume_attachments",
        key("volume_id", index=True),
        key("instance_uuid", null=True, index=True),
        text("attached_host", null=True),
        text("mountpoint", null=True),
        text("attach_mode", 8, null=True),
        time("attached_at", null=True),
        time("detached_at", null=True),
        *moving(),
        document("connector", null=True),
        document("connection", null=True),
        flag("ending"),
        references={"volume_id": "volumes"},
    )
    create(
        "volume_connections",
        key("volume_id", index=True),
        *owned(),
        document("connector", null=True),
        document("connection", null=True),
        flag("ending"),
        references={"volume_id": "volumes"},
    )
