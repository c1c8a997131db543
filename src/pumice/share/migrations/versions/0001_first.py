"""The first schema: shares, their instances, rules, snapshots, types, locks, transfers, and the kernel's tables."""

from __future__ import annotations

from pumice.kernel.db.migrations.first import create_kernel_tables
from pumice.kernel.db.migrations.spelling import (
    create,
    document,
    flag,
    identified,
    indexed,
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
        "share_resource_locks",
        text("resource_type", 16),
        key("resource_id"),
        text("resource_action", 16),
        text("lock_context", 16),
        text("lock_reason", 1023, null=True),
        key("rule_id", null=True, index=True),
        number("version"),
        *owned(),
    )
    indexed("share_resource_locks", "resource_id", "resource_action")
    create(
        "share_type_access",
        key("type_id"),
        text("project_id", index=True),
        primary=("type_id", "project_id"),
    )
    create(
        "share_types",
        text("description", null=True),
        flag("is_public"),
        document("extra_specs"),
        text("name"),
        *identified(),
        unique=("name",),
    )
    create(
        "shares",
        text("status", 64, index=True),
        number("size"),
        number("growing_gb"),
        text("name", null=True),
        text("description", null=True),
        text("proto", 16),
        key("share_type_id", null=True, index=True),
        key("snapshot_id", null=True),
        flag("is_public"),
        text("host", null=True, index=True),
        text("availability_zone", null=True),
        text("progress", 8, null=True),
        text("task_state", 64, null=True),
        flag("snapshot_support"),
        flag("create_share_from_snapshot_support"),
        flag("revert_to_snapshot_support"),
        flag("mount_snapshot_support"),
        flag("snapshot_inherit_share_access_support"),
        text("replication_type", 16, null=True),
        key("share_group_id", null=True),
        key("source_share_group_snapshot_member_id", null=True),
        key("source_backup_id", null=True),
        text("mount_point_name", null=True),
        key("encryption_key_ref", null=True),
        flag("is_soft_deleted", index=True),
        time("scheduled_to_be_deleted_at", null=True),
        document("metadata"),
        number("version"),
        *owned(listed=True),
    )
    listed("shares")
    create(
        "share_access_rules",
        key("share_id", index=True),
        text("access_type", 16),
        text("access_to"),
        text("access_level", 2),
        text("access_key", null=True),
        text("state", 32, index=True),
        flag("denied"),
        document("metadata"),
        number("version"),
        *owned(),
        unique=("share_id", "access_type", "access_to"),
        references={"share_id": "shares"},
    )
    create(
        "share_instances",
        key("share_id", index=True),
        text("host", null=True, index=True),
        text("cluster_name", null=True),
        text("availability_zone", null=True),
        key("share_type_id", null=True),
        text("access_rules_status", 16),
        number("access_wanted"),
        number("access_applied"),
        flag("cast_rules_to_readonly"),
        text("replica_state", 32, null=True),
        key("share_network_id", null=True),
        key("share_server_id", null=True),
        text("progress", 8, null=True),
        time("launched_at", null=True),
        *moving(),
        references={"share_id": "shares"},
    )
    create(
        "share_snapshots",
        text("status", 64, index=True),
        key("share_id", index=True),
        key("share_type_id", null=True),
        number("size"),
        text("proto", 16),
        text("name", null=True),
        text("description", null=True),
        text("provider_location", null=True),
        document("metadata"),
        number("version"),
        *owned(listed=True),
        references={"share_id": "shares"},
    )
    listed("share_snapshots")
    create(
        "share_transfers",
        key("share_id"),
        text("name", null=True),
        text("salt"),
        text("key_hash", 64),
        time("expires_at", index=True),
        *owned(),
        unique=("share_id",),
        references={"share_id": "shares"},
        follows=("share_id",),
    )
    create(
        "share_export_locations",
        key("share_id", index=True),
        key("share_instance_id", index=True),
        text("path", 2000),
        flag("preferred"),
        flag("is_admin_only"),
        document("metadata"),
        number("version"),
        *owned(),
        references={"share_id": "shares", "share_instance_id": "share_instances"},
    )
    create(
        "share_snapshot_access_rules",
        key("snapshot_id", index=True),
        text("access_type", 16),
        text("access_to"),
        text("state", 32, index=True),
        flag("denied"),
        number("version"),
        *owned(),
        unique=("snapshot_id", "access_type", "access_to"),
        references={"snapshot_id": "share_snapshots"},
    )
    create(
        "share_snapshot_instances",
        key("snapshot_id", index=True),
        key("share_id", index=True),
        key("share_instance_id", index=True),
        text("provider_location", null=True),
        text("progress", 8, null=True),
        number("access_wanted"),
        number("access_applied"),
        *moving(),
        references={"share_instance_id": "share_instances", "snapshot_id": "share_snapshots"},
    )
    create(
        "share_snapshot_export_locations",
        key("snapshot_id", index=True),
        key("snapshot_instance_id", index=True),
        text("path", 2000),
        flag("is_admin_only"),
        *owned(),
        references={"snapshot_id": "share_snapshots", "snapshot_instance_id": "share_snapshot_instances"},
    )
