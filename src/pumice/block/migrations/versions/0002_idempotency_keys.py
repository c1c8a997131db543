"""Requests that may be repeated."""

from __future__ import annotations

from pumice.kernel.db.migrations.idempotency import create_idempotency_keys

revision = "0002_0001"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    create_idempotency_keys()
