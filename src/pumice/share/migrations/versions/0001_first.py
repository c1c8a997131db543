"""The first schema: shares, snapshots, access rules, types, locks, transfers, and the kernel's tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "clusters",
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column(
            "updated_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("binary", sa.String(length=255), nullable=False),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("disabled_reason", sa.String(length=255), nullable=True),
        sa.Column("frozen", sa.Boolean(), nullable=False),
        sa.Column("replication_status", sa.String(length=36), nullable=False),
        sa.Column("active_backend_id", sa.String(length=255), nullable=True),
        sa.Column(
            "created_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_clusters")),
        sa.UniqueConstraint("name", "binary", name=op.f("uq_clusters_name_binary")),
    )
    op.create_table(
        "holds",
        sa.Column("operation_id", sa.String(length=36), nullable=False),
        sa.Column("resource_id", sa.String(length=36), nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "updated_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_holds")),
    )
    op.create_index(op.f("ix_holds_created_at"), "holds", ["created_at"], unique=False)
    op.create_index(op.f("ix_holds_operation_id"), "holds", ["operation_id"], unique=False)
    op.create_index(op.f("ix_holds_resource_id"), "holds", ["resource_id"], unique=False)
    op.create_table(
        "messages",
        sa.Column("event_id", sa.String(length=255), nullable=False),
        sa.Column("action_id", sa.String(length=10), nullable=False),
        sa.Column("detail_id", sa.String(length=10), nullable=False),
        sa.Column("message_level", sa.String(length=16), nullable=False),
        sa.Column("resource_type", sa.String(length=64), nullable=True),
        sa.Column("resource_uuid", sa.String(length=36), nullable=True),
        sa.Column("request_id", sa.String(length=255), nullable=True),
        sa.Column(
            "expires_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=True),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "updated_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_messages")),
    )
    op.create_index(op.f("ix_messages_created_at"), "messages", ["created_at"], unique=False)
    op.create_index(op.f("ix_messages_event_id"), "messages", ["event_id"], unique=False)
    op.create_index(op.f("ix_messages_expires_at"), "messages", ["expires_at"], unique=False)
    op.create_index(op.f("ix_messages_project_id"), "messages", ["project_id"], unique=False)
    op.create_index(op.f("ix_messages_request_id"), "messages", ["request_id"], unique=False)
    op.create_index(op.f("ix_messages_resource_uuid"), "messages", ["resource_uuid"], unique=False)
    op.create_table(
        "notifications",
        sa.Column("sequence", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("event_type", sa.String(length=255), nullable=False),
        sa.Column("publisher_id", sa.String(length=255), nullable=False),
        sa.Column("priority", sa.String(length=16), nullable=False),
        sa.Column("payload", sa.JSON(none_as_null=True), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column("claimed_by", sa.String(length=36), nullable=True),
        sa.Column(
            "claimed_until",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_notifications")),
        sa.UniqueConstraint("id", name=op.f("uq_notifications_id")),
    )
    op.create_table(
        "operations",
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("queue", sa.String(length=300), nullable=False),
        sa.Column("lane", sa.String(length=8), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("step", sa.String(length=64), nullable=False),
        sa.Column("resource_type", sa.String(length=32), nullable=False),
        sa.Column("resource_id", sa.String(length=36), nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=True),
        sa.Column("shown", sa.Boolean(), nullable=False),
        sa.Column("args", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("checkpoint", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("progress", sa.Float(), nullable=True),
        sa.Column("owner", sa.String(length=160), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("beat", sa.Integer(), nullable=False),
        sa.Column("fences", sa.Integer(), nullable=False),
        sa.Column(
            "deadline",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "not_before",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.Column("signal", sa.String(length=64), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column(
            "finished_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=True),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "updated_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operations")),
    )
    op.create_index(op.f("ix_operations_created_at"), "operations", ["created_at"], unique=False)
    op.create_index(op.f("ix_operations_owner"), "operations", ["owner"], unique=False)
    op.create_index(op.f("ix_operations_project_id"), "operations", ["project_id"], unique=False)
    op.create_index("ix_operations_queue_state", "operations", ["queue", "state"], unique=False)
    op.create_index(op.f("ix_operations_resource_id"), "operations", ["resource_id"], unique=False)
    op.create_index(op.f("ix_operations_state"), "operations", ["state"], unique=False)
    op.create_table(
        "pools",
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("backend", sa.String(length=255), nullable=False),
        sa.Column("present", sa.Boolean(), nullable=False),
        sa.Column("total_gb", sa.Double(), nullable=True),
        sa.Column("free_gb", sa.Double(), nullable=True),
        sa.Column("provisioned_gb", sa.Double(), nullable=False),
        sa.Column("thin", sa.Boolean(), nullable=False),
        sa.Column("reserved_percentage", sa.Integer(), nullable=False),
        sa.Column("max_over_subscription_ratio", sa.Double(), nullable=False),
        sa.Column("capabilities", sa.JSON(none_as_null=True), nullable=False),
        sa.Column(
            "reported_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column("allocated_gb", sa.BigInteger(), nullable=False),
        sa.Column("settled_gb", sa.BigInteger(), nullable=False),
        sa.Column("sampled_gb", sa.BigInteger(), nullable=False),
        sa.Column("unsure_gb", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("host", name=op.f("pk_pools")),
    )
    op.create_index(op.f("ix_pools_backend"), "pools", ["backend"], unique=False)
    op.create_table(
        "quota_limits",
        sa.Column("owner", sa.String(length=255), nullable=False),
        sa.Column("resource", sa.String(length=300), nullable=False),
        sa.Column("value", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "resource", name=op.f("pk_quota_limits")),
    )
    op.create_table(
        "quota_usages",
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("resource", sa.String(length=300), nullable=False),
        sa.Column("in_use", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "resource", name=op.f("pk_quota_usages")),
    )
    op.create_table(
        "services",
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("topic", sa.String(length=255), nullable=False),
        sa.Column("cluster", sa.String(length=255), nullable=True),
        sa.Column("availability_zone", sa.String(length=255), nullable=False),
        sa.Column("backend_state", sa.String(length=16), nullable=False),
        sa.Column("kinds", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("report_count", sa.Integer(), nullable=False),
        sa.Column(
            "last_seen",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("binary", sa.String(length=255), nullable=False),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("disabled_reason", sa.String(length=255), nullable=True),
        sa.Column("frozen", sa.Boolean(), nullable=False),
        sa.Column("replication_status", sa.String(length=36), nullable=False),
        sa.Column("active_backend_id", sa.String(length=255), nullable=True),
        sa.Column(
            "created_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_services")),
        sa.UniqueConstraint("host", "binary", name=op.f("uq_services_host_binary")),
    )
    op.create_index(op.f("ix_services_cluster"), "services", ["cluster"], unique=False)
    op.create_index(op.f("ix_services_last_seen"), "services", ["last_seen"], unique=False)
    op.create_table(
        "share_resource_locks",
        sa.Column("resource_type", sa.String(length=16), nullable=False),
        sa.Column("resource_id", sa.String(length=36), nullable=False),
        sa.Column("resource_action", sa.String(length=16), nullable=False),
        sa.Column("lock_context", sa.String(length=16), nullable=False),
        sa.Column("lock_reason", sa.String(length=1023), nullable=True),
        sa.Column("rule_id", sa.String(length=36), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=True),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "updated_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_share_resource_locks")),
    )
    op.create_index(op.f("ix_share_resource_locks_created_at"), "share_resource_locks", ["created_at"], unique=False)
    op.create_index(op.f("ix_share_resource_locks_project_id"), "share_resource_locks", ["project_id"], unique=False)
    op.create_index(
        "ix_share_resource_locks_resource", "share_resource_locks", ["resource_id", "resource_action"], unique=False
    )
    op.create_index(op.f("ix_share_resource_locks_rule_id"), "share_resource_locks", ["rule_id"], unique=False)
    op.create_table(
        "share_type_access",
        sa.Column("type_id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.PrimaryKeyConstraint("type_id", "project_id", name=op.f("pk_share_type_access")),
    )
    op.create_index(op.f("ix_share_type_access_project_id"), "share_type_access", ["project_id"], unique=False)
    op.create_table(
        "share_types",
        sa.Column("description", sa.String(length=255), nullable=True),
        sa.Column("is_public", sa.Boolean(), nullable=False),
        sa.Column("extra_specs", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "updated_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_share_types")),
        sa.UniqueConstraint("name", name=op.f("uq_share_types_name")),
    )
    op.create_index(op.f("ix_share_types_created_at"), "share_types", ["created_at"], unique=False)
    op.create_table(
        "shares",
        sa.Column("status", sa.String(length=64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("growing_gb", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=True),
        sa.Column("description", sa.String(length=255), nullable=True),
        sa.Column("proto", sa.String(length=16), nullable=False),
        sa.Column("share_type_id", sa.String(length=36), nullable=True),
        sa.Column("snapshot_id", sa.String(length=36), nullable=True),
        sa.Column("is_public", sa.Boolean(), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=True),
        sa.Column("availability_zone", sa.String(length=255), nullable=True),
        sa.Column("progress", sa.String(length=8), nullable=True),
        sa.Column("task_state", sa.String(length=64), nullable=True),
        sa.Column("snapshot_support", sa.Boolean(), nullable=False),
        sa.Column("create_share_from_snapshot_support", sa.Boolean(), nullable=False),
        sa.Column("revert_to_snapshot_support", sa.Boolean(), nullable=False),
        sa.Column("mount_snapshot_support", sa.Boolean(), nullable=False),
        sa.Column("snapshot_inherit_share_access_support", sa.Boolean(), nullable=False),
        sa.Column("replication_type", sa.String(length=16), nullable=True),
        sa.Column("share_group_id", sa.String(length=36), nullable=True),
        sa.Column("source_share_group_snapshot_member_id", sa.String(length=36), nullable=True),
        sa.Column("source_backup_id", sa.String(length=36), nullable=True),
        sa.Column("mount_point_name", sa.String(length=255), nullable=True),
        sa.Column("encryption_key_ref", sa.String(length=36), nullable=True),
        sa.Column("is_soft_deleted", sa.Boolean(), nullable=False),
        sa.Column(
            "scheduled_to_be_deleted_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.Column("metadata", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=True),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "updated_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shares")),
    )
    op.create_index(op.f("ix_shares_created_at"), "shares", ["created_at"], unique=False)
    op.create_index(op.f("ix_shares_host"), "shares", ["host"], unique=False)
    op.create_index(op.f("ix_shares_is_soft_deleted"), "shares", ["is_soft_deleted"], unique=False)
    op.create_index(op.f("ix_shares_project_id"), "shares", ["project_id"], unique=False)
    op.create_index(op.f("ix_shares_share_type_id"), "shares", ["share_type_id"], unique=False)
    op.create_index(op.f("ix_shares_status"), "shares", ["status"], unique=False)
    op.create_table(
        "share_access_rules",
        sa.Column("share_id", sa.String(length=36), nullable=False),
        sa.Column("access_type", sa.String(length=16), nullable=False),
        sa.Column("access_to", sa.String(length=255), nullable=False),
        sa.Column("access_level", sa.String(length=2), nullable=False),
        sa.Column("access_key", sa.String(length=255), nullable=True),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("denied", sa.Boolean(), nullable=False),
        sa.Column("metadata", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=True),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "updated_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.ForeignKeyConstraint(["share_id"], ["shares.id"], name=op.f("fk_share_access_rules_share_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_share_access_rules")),
        sa.UniqueConstraint(
            "share_id", "access_type", "access_to", name=op.f("uq_share_access_rules_share_id_access_type_access_to")
        ),
    )
    op.create_index(op.f("ix_share_access_rules_created_at"), "share_access_rules", ["created_at"], unique=False)
    op.create_index(op.f("ix_share_access_rules_project_id"), "share_access_rules", ["project_id"], unique=False)
    op.create_index(op.f("ix_share_access_rules_share_id"), "share_access_rules", ["share_id"], unique=False)
    op.create_index(op.f("ix_share_access_rules_state"), "share_access_rules", ["state"], unique=False)
    op.create_table(
        "share_instances",
        sa.Column("share_id", sa.String(length=36), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=True),
        sa.Column("cluster_name", sa.String(length=255), nullable=True),
        sa.Column("availability_zone", sa.String(length=255), nullable=True),
        sa.Column("share_type_id", sa.String(length=36), nullable=True),
        sa.Column("access_rules_status", sa.String(length=16), nullable=False),
        sa.Column("access_wanted", sa.Integer(), nullable=False),
        sa.Column("access_applied", sa.Integer(), nullable=False),
        sa.Column("cast_rules_to_readonly", sa.Boolean(), nullable=False),
        sa.Column("replica_state", sa.String(length=32), nullable=True),
        sa.Column("share_network_id", sa.String(length=36), nullable=True),
        sa.Column("share_server_id", sa.String(length=36), nullable=True),
        sa.Column("progress", sa.String(length=8), nullable=True),
        sa.Column(
            "launched_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.Column("status", sa.String(length=64), nullable=False),
        sa.Column("previous_status", sa.String(length=64), nullable=True),
        sa.Column("operation_id", sa.String(length=36), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=True),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "updated_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.ForeignKeyConstraint(["share_id"], ["shares.id"], name=op.f("fk_share_instances_share_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_share_instances")),
    )
    op.create_index(op.f("ix_share_instances_created_at"), "share_instances", ["created_at"], unique=False)
    op.create_index(op.f("ix_share_instances_host"), "share_instances", ["host"], unique=False)
    op.create_index(op.f("ix_share_instances_operation_id"), "share_instances", ["operation_id"], unique=False)
    op.create_index(op.f("ix_share_instances_project_id"), "share_instances", ["project_id"], unique=False)
    op.create_index(op.f("ix_share_instances_share_id"), "share_instances", ["share_id"], unique=False)
    op.create_index(op.f("ix_share_instances_status"), "share_instances", ["status"], unique=False)
    op.create_table(
        "share_snapshots",
        sa.Column("status", sa.String(length=64), nullable=False),
        sa.Column("share_id", sa.String(length=36), nullable=False),
        sa.Column("share_type_id", sa.String(length=36), nullable=True),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("proto", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=True),
        sa.Column("description", sa.String(length=255), nullable=True),
        sa.Column("provider_location", sa.String(length=255), nullable=True),
        sa.Column("metadata", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=True),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "updated_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.ForeignKeyConstraint(["share_id"], ["shares.id"], name=op.f("fk_share_snapshots_share_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_share_snapshots")),
    )
    op.create_index(op.f("ix_share_snapshots_created_at"), "share_snapshots", ["created_at"], unique=False)
    op.create_index(op.f("ix_share_snapshots_project_id"), "share_snapshots", ["project_id"], unique=False)
    op.create_index(op.f("ix_share_snapshots_share_id"), "share_snapshots", ["share_id"], unique=False)
    op.create_index(op.f("ix_share_snapshots_status"), "share_snapshots", ["status"], unique=False)
    op.create_table(
        "share_transfers",
        sa.Column("share_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=True),
        sa.Column("salt", sa.String(length=255), nullable=False),
        sa.Column("key_hash", sa.String(length=64), nullable=False),
        sa.Column(
            "expires_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=True),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "updated_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.ForeignKeyConstraint(
            ["share_id"], ["shares.id"], name=op.f("fk_share_transfers_share_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_share_transfers")),
        sa.UniqueConstraint("share_id", name=op.f("uq_share_transfers_share_id")),
    )
    op.create_index(op.f("ix_share_transfers_created_at"), "share_transfers", ["created_at"], unique=False)
    op.create_index(op.f("ix_share_transfers_expires_at"), "share_transfers", ["expires_at"], unique=False)
    op.create_index(op.f("ix_share_transfers_project_id"), "share_transfers", ["project_id"], unique=False)
    op.create_table(
        "share_export_locations",
        sa.Column("share_id", sa.String(length=36), nullable=False),
        sa.Column("share_instance_id", sa.String(length=36), nullable=False),
        sa.Column("path", sa.String(length=2000), nullable=False),
        sa.Column("preferred", sa.Boolean(), nullable=False),
        sa.Column("is_admin_only", sa.Boolean(), nullable=False),
        sa.Column("metadata", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=True),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "updated_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.ForeignKeyConstraint(["share_id"], ["shares.id"], name=op.f("fk_share_export_locations_share_id")),
        sa.ForeignKeyConstraint(
            ["share_instance_id"], ["share_instances.id"], name=op.f("fk_share_export_locations_share_instance_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_share_export_locations")),
    )
    op.create_index(
        op.f("ix_share_export_locations_created_at"), "share_export_locations", ["created_at"], unique=False
    )
    op.create_index(
        op.f("ix_share_export_locations_project_id"), "share_export_locations", ["project_id"], unique=False
    )
    op.create_index(op.f("ix_share_export_locations_share_id"), "share_export_locations", ["share_id"], unique=False)
    op.create_index(
        op.f("ix_share_export_locations_share_instance_id"),
        "share_export_locations",
        ["share_instance_id"],
        unique=False,
    )
    op.create_table(
        "share_snapshot_access_rules",
        sa.Column("snapshot_id", sa.String(length=36), nullable=False),
        sa.Column("access_type", sa.String(length=16), nullable=False),
        sa.Column("access_to", sa.String(length=255), nullable=False),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("denied", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=True),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "updated_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.ForeignKeyConstraint(
            ["snapshot_id"], ["share_snapshots.id"], name=op.f("fk_share_snapshot_access_rules_snapshot_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_share_snapshot_access_rules")),
        sa.UniqueConstraint(
            "snapshot_id",
            "access_type",
            "access_to",
            name=op.f("uq_share_snapshot_access_rules_snapshot_id_access_type_access_to"),
        ),
    )
    op.create_index(
        op.f("ix_share_snapshot_access_rules_created_at"), "share_snapshot_access_rules", ["created_at"], unique=False
    )
    op.create_index(
        op.f("ix_share_snapshot_access_rules_project_id"), "share_snapshot_access_rules", ["project_id"], unique=False
    )
    op.create_index(
        op.f("ix_share_snapshot_access_rules_snapshot_id"), "share_snapshot_access_rules", ["snapshot_id"], unique=False
    )
    op.create_index(
        op.f("ix_share_snapshot_access_rules_state"), "share_snapshot_access_rules", ["state"], unique=False
    )
    op.create_table(
        "share_snapshot_instances",
        sa.Column("snapshot_id", sa.String(length=36), nullable=False),
        sa.Column("share_id", sa.String(length=36), nullable=False),
        sa.Column("share_instance_id", sa.String(length=36), nullable=False),
        sa.Column("provider_location", sa.String(length=255), nullable=True),
        sa.Column("progress", sa.String(length=8), nullable=True),
        sa.Column("access_wanted", sa.Integer(), nullable=False),
        sa.Column("access_applied", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=64), nullable=False),
        sa.Column("previous_status", sa.String(length=64), nullable=True),
        sa.Column("operation_id", sa.String(length=36), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=True),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "updated_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.ForeignKeyConstraint(
            ["share_instance_id"], ["share_instances.id"], name=op.f("fk_share_snapshot_instances_share_instance_id")
        ),
        sa.ForeignKeyConstraint(
            ["snapshot_id"], ["share_snapshots.id"], name=op.f("fk_share_snapshot_instances_snapshot_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_share_snapshot_instances")),
    )
    op.create_index(
        op.f("ix_share_snapshot_instances_created_at"), "share_snapshot_instances", ["created_at"], unique=False
    )
    op.create_index(
        op.f("ix_share_snapshot_instances_operation_id"), "share_snapshot_instances", ["operation_id"], unique=False
    )
    op.create_index(
        op.f("ix_share_snapshot_instances_project_id"), "share_snapshot_instances", ["project_id"], unique=False
    )
    op.create_index(
        op.f("ix_share_snapshot_instances_share_id"), "share_snapshot_instances", ["share_id"], unique=False
    )
    op.create_index(
        op.f("ix_share_snapshot_instances_share_instance_id"),
        "share_snapshot_instances",
        ["share_instance_id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_share_snapshot_instances_snapshot_id"), "share_snapshot_instances", ["snapshot_id"], unique=False
    )
    op.create_index(op.f("ix_share_snapshot_instances_status"), "share_snapshot_instances", ["status"], unique=False)
    op.create_table(
        "share_snapshot_export_locations",
        sa.Column("snapshot_id", sa.String(length=36), nullable=False),
        sa.Column("snapshot_instance_id", sa.String(length=36), nullable=False),
        sa.Column("path", sa.String(length=2000), nullable=False),
        sa.Column("is_admin_only", sa.Boolean(), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=True),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "updated_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.ForeignKeyConstraint(
            ["snapshot_id"], ["share_snapshots.id"], name=op.f("fk_share_snapshot_export_locations_snapshot_id")
        ),
        sa.ForeignKeyConstraint(
            ["snapshot_instance_id"],
            ["share_snapshot_instances.id"],
            name=op.f("fk_share_snapshot_export_locations_snapshot_instance_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_share_snapshot_export_locations")),
    )
    op.create_index(
        op.f("ix_share_snapshot_export_locations_created_at"),
        "share_snapshot_export_locations",
        ["created_at"],
        unique=False,
    )
    op.create_index(
        op.f("ix_share_snapshot_export_locations_project_id"),
        "share_snapshot_export_locations",
        ["project_id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_share_snapshot_export_locations_snapshot_id"),
        "share_snapshot_export_locations",
        ["snapshot_id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_share_snapshot_export_locations_snapshot_instance_id"),
        "share_snapshot_export_locations",
        ["snapshot_instance_id"],
        unique=False,
    )
