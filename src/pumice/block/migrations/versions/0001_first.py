"""The first schema: volumes, snapshots, attachments, types, and the kernel's tables."""

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
        "default_volume_types",
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("volume_type_id", sa.String(length=36), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_default_volume_types")),
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
        "volume_type_access",
        sa.Column("type_id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.PrimaryKeyConstraint("type_id", "project_id", name=op.f("pk_volume_type_access")),
    )
    op.create_index(op.f("ix_volume_type_access_project_id"), "volume_type_access", ["project_id"], unique=False)
    op.create_table(
        "volume_types",
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
        sa.PrimaryKeyConstraint("id", name=op.f("pk_volume_types")),
        sa.UniqueConstraint("name", name=op.f("uq_volume_types_name")),
    )
    op.create_index(op.f("ix_volume_types_created_at"), "volume_types", ["created_at"], unique=False)
    op.create_table(
        "volumes",
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("growing_gb", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=True),
        sa.Column("description", sa.String(length=255), nullable=True),
        sa.Column("availability_zone", sa.String(length=255), nullable=True),
        sa.Column("volume_type_id", sa.String(length=36), nullable=True),
        sa.Column("snapshot_id", sa.String(length=36), nullable=True),
        sa.Column("source_volid", sa.String(length=36), nullable=True),
        sa.Column("host", sa.String(length=255), nullable=True),
        sa.Column("cluster_name", sa.String(length=255), nullable=True),
        sa.Column("service_uuid", sa.String(length=36), nullable=True),
        sa.Column("attach_status", sa.String(length=32), nullable=False),
        sa.Column("migration_status", sa.String(length=64), nullable=True),
        sa.Column("replication_status", sa.String(length=32), nullable=False),
        sa.Column("bootable", sa.Boolean(), nullable=False),
        sa.Column("multiattach", sa.Boolean(), nullable=False),
        sa.Column("consumes_quota", sa.Boolean(), nullable=False),
        sa.Column("shared_targets", sa.Boolean(), nullable=True),
        sa.Column("provider_id", sa.String(length=255), nullable=True),
        sa.Column("encryption_key_id", sa.String(length=36), nullable=True),
        sa.Column("group_id", sa.String(length=36), nullable=True),
        sa.Column("consistencygroup_id", sa.String(length=36), nullable=True),
        sa.Column(
            "launched_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.Column("metadata", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("admin_meta", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("image_meta", sa.JSON(none_as_null=True), nullable=True),
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
        sa.PrimaryKeyConstraint("id", name=op.f("pk_volumes")),
    )
    op.create_index(op.f("ix_volumes_created_at"), "volumes", ["created_at"], unique=False)
    op.create_index(op.f("ix_volumes_host"), "volumes", ["host"], unique=False)
    op.create_index(op.f("ix_volumes_operation_id"), "volumes", ["operation_id"], unique=False)
    op.create_index(op.f("ix_volumes_project_id"), "volumes", ["project_id"], unique=False)
    op.create_index(op.f("ix_volumes_status"), "volumes", ["status"], unique=False)
    op.create_index(op.f("ix_volumes_volume_type_id"), "volumes", ["volume_type_id"], unique=False)
    op.create_table(
        "snapshots",
        sa.Column("volume_id", sa.String(length=36), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("charged_gb", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=True),
        sa.Column("description", sa.String(length=255), nullable=True),
        sa.Column("volume_type_id", sa.String(length=36), nullable=True),
        sa.Column("progress", sa.String(length=8), nullable=True),
        sa.Column("group_snapshot_id", sa.String(length=36), nullable=True),
        sa.Column("consumes_quota", sa.Boolean(), nullable=False),
        sa.Column("metadata", sa.JSON(none_as_null=True), nullable=False),
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
        sa.ForeignKeyConstraint(["volume_id"], ["volumes.id"], name=op.f("fk_snapshots_volume_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_snapshots")),
    )
    op.create_index(op.f("ix_snapshots_created_at"), "snapshots", ["created_at"], unique=False)
    op.create_index(op.f("ix_snapshots_operation_id"), "snapshots", ["operation_id"], unique=False)
    op.create_index(op.f("ix_snapshots_project_id"), "snapshots", ["project_id"], unique=False)
    op.create_index(op.f("ix_snapshots_status"), "snapshots", ["status"], unique=False)
    op.create_index(op.f("ix_snapshots_volume_id"), "snapshots", ["volume_id"], unique=False)
    op.create_table(
        "volume_attachments",
        sa.Column("volume_id", sa.String(length=36), nullable=False),
        sa.Column("instance_uuid", sa.String(length=36), nullable=True),
        sa.Column("attached_host", sa.String(length=255), nullable=True),
        sa.Column("mountpoint", sa.String(length=255), nullable=True),
        sa.Column("attach_mode", sa.String(length=8), nullable=True),
        sa.Column(
            "attached_at",
            sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mariadb").with_variant(mysql.DATETIME(fsp=6), "mysql"),
            nullable=True,
        ),
        sa.Column(
            "detached_at",
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
        sa.Column("connector", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("connection", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("ending", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["volume_id"], ["volumes.id"], name=op.f("fk_volume_attachments_volume_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_volume_attachments")),
    )
    op.create_index(op.f("ix_volume_attachments_created_at"), "volume_attachments", ["created_at"], unique=False)
    op.create_index(op.f("ix_volume_attachments_instance_uuid"), "volume_attachments", ["instance_uuid"], unique=False)
    op.create_index(op.f("ix_volume_attachments_operation_id"), "volume_attachments", ["operation_id"], unique=False)
    op.create_index(op.f("ix_volume_attachments_project_id"), "volume_attachments", ["project_id"], unique=False)
    op.create_index(op.f("ix_volume_attachments_status"), "volume_attachments", ["status"], unique=False)
    op.create_index(op.f("ix_volume_attachments_volume_id"), "volume_attachments", ["volume_id"], unique=False)
    op.create_table(
        "volume_connections",
        sa.Column("volume_id", sa.String(length=36), nullable=False),
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
        sa.Column("connector", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("connection", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("ending", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["volume_id"], ["volumes.id"], name=op.f("fk_volume_connections_volume_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_volume_connections")),
    )
    op.create_index(op.f("ix_volume_connections_created_at"), "volume_connections", ["created_at"], unique=False)
    op.create_index(op.f("ix_volume_connections_project_id"), "volume_connections", ["project_id"], unique=False)
    op.create_index(op.f("ix_volume_connections_volume_id"), "volume_connections", ["volume_id"], unique=False)
