"""Statuses of snapshots and the moves between them (section 8 of the API)."""

from __future__ import annotations

from pumice.kernel.moves import End, Move

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

CREATE = Move(name="create", start=frozenset(), via="creating", done="available", failed="error")
DELETE = Move(
    name="delete",
    start=frozenset(("available", "error", "error_deleting")),
    via="deleting",
    done=End.GONE,
    failed="error_deleting",
)
FORCE_DELETE = Move(name="force delete", start=None, via="deleting", done=End.GONE, failed="error_deleting")
