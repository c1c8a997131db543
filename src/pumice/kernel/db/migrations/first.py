"""The kernel's tables as the first schema of every service has them."""

from __future__ import annotations

import sqlalchemy as sa

from pumice.kernel.db.migrations.spelling import (
    COUNT,
    column,
    create,
    document,
    flag,
    identified,
    indexed,
    key,
    number,
    owned,
    real,
    text,
    time,
)


def create_kernel_tables() -> None:
    create(
        "clusters",
        text("name"),
        time("updated_at", null=True),
        number("id"),
        text("binary"),
        flag("disabled"),
        text("disabled_reason", null=True),
        flag("frozen"),
        text("replication_status", 36),
        text("active_backend_id", null=True),
        time("created_at"),
        unique=("name", "binary"),
    )
    create(
        "holds",
        key("operation_id", index=True),
        key("resource_id", index=True),
        *identified(),
    )
    create(
        "messages",
        text("event_id", index=True),
        text("action_id", 10),
        text("detail_id", 10),
        text("message_level", 16),
        text("resource_type", 64, null=True),
        key("resource_uuid", null=True, index=True),
        text("request_id", null=True, index=True),
        time("expires_at", index=True),
        *owned(),
    )
    create(
        "notifications",
        column("sequence", COUNT),
        key("id"),
        text("event_type"),
        text("publisher_id"),
        text("priority", 16),
        document("payload"),
        time("created_at"),
        key("claimed_by", null=True),
        time("claimed_until", null=True),
        primary=("sequence",),
        unique=("id",),
    )
    create(
        "operations",
        text("kind", 64),
        text("queue", 300),
        text("lane", 8),
        text("state", 16, index=True),
        text("step", 64),
        text("resource_type", 32),
        key("resource_id", index=True),
        text("request_id", 64, null=True),
        flag("shown"),
        document("args"),
        document("checkpoint"),
        column("progress", sa.Float(), null=True),
        text("owner", 160, null=True, index=True),
        number("attempt"),
        number("beat"),
        number("fences"),
        time("deadline"),
        time("not_before", null=True),
        text("signal", 64, null=True),
        column("error", sa.Text(), null=True),
        time("finished_at", null=True),
        *owned(),
    )
    indexed("operations", "queue", "state")
    create(
        "pools",
        text("host"),
        text("backend", index=True),
        flag("present"),
        real("total_gb", null=True),
        real("free_gb", null=True),
        real("provisioned_gb"),
        flag("thin"),
        number("reserved_percentage"),
        real("max_over_subscription_ratio"),
        document("capabilities"),
        time("reported_at"),
        column("allocated_gb", sa.BigInteger()),
        column("settled_gb", sa.BigInteger()),
        column("sampled_gb", sa.BigInteger()),
        column("unsure_gb", sa.BigInteger()),
        column("version", sa.BigInteger()),
        primary=("host",),
    )
    create(
        "quota_limits",
        text("owner"),
        text("resource", 300),
        number("value"),
        primary=("owner", "resource"),
    )
    create(
        "quota_usages",
        text("project_id"),
        text("resource", 300),
        column("in_use", sa.BigInteger()),
        primary=("project_id", "resource"),
    )
    create(
        "services",
        text("host"),
        text("topic"),
        text("cluster", null=True, index=True),
        text("availability_zone"),
        text("backend_state", 16),
        document("kinds"),
        number("report_count"),
        time("last_seen", index=True),
        number("id"),
        text("binary"),
        flag("disabled"),
        text("disabled_reason", null=True),
        flag("frozen"),
        text("replication_status", 36),
        text("active_backend_id", null=True),
        time("created_at"),
        unique=("host", "binary"),
    )
