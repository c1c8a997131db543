"""Statuses of snapshots and the moves between them (section 8 of the API)."""

from __future__ import annotations

from pumice.kernel import moves

STATUSES = frozenset(
    [
        "creating",
        "available",
        "deleting",
        "deleted",
        "error",
        "error_deleting",
        "updating",
        "unmanaging",
        "backing-up",
        "restoring",
    ]
)
MOVING = frozenset(["creating", "deleting", "updating", "unmanaging", "backing-up", "restoring"])

CREATE, FORCE_DELETE = moves.CREATE, moves.FORCE_DELETE
DELETE = moves.deletion(("available", "error", "error_deleting"))
