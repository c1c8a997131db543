"""The table of requests that may be repeated, which is the same in every service."""

from __future__ import annotations

from pumice.kernel.db.migrations.spelling import create, document, owned, text


def create_idempotency_keys() -> None:
    create(
        "idempotency_keys",
        text("key_hash", 64),
        text("request_hash", 64),
        document("answer"),
        document("headers"),
        *owned(),
        unique=("key_hash",),
    )
