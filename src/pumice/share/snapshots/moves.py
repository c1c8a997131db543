"""Statuses of snapshots and the moves between them (section 9 of the API). Instances move, snapshots follow."""

from __future__ import annotations

from pumice.kernel import moves
from pumice.kernel.errors import Forbidden
from pumice.kernel.moves import End, Move
from pumice.share.projection import deferred

STATUSES = (
    "creating",
    "available",
    "error",
    "deleting",
    "error_deleting",
    "manage_starting",
    "manage_error",
    "unmanage_starting",
    "unmanage_error",
    "migrating",
    "migrating_to",
    "restoring",
)
"""All that may stand in a snapshot's status, and that an administrator may give it."""

MOVING = frozenset(("creating", "deleting", "manage_starting", "unmanage_starting", "restoring", "deferred_deleting"))
"""Those that only a live operation may hold."""

TRANSITIONAL = MOVING | {"migrating", "migrating_to"}

CREATE, FORCE_DELETE = moves.CREATE, moves.FORCE_DELETE
DELETE = moves.deletion(("available", "error", "error_deleting"))
DEFERRED_DELETE = deferred(DELETE)
MANAGE = Move(name="manage", start=frozenset(), via="manage_starting", done="available", failed="manage_error")
UNMANAGE = Move(
    name="unmanage",
    start=frozenset(STATUSES) - TRANSITIONAL,
    via="unmanage_starting",
    done=End.GONE,
    failed="unmanage_error",
    refusal=Forbidden,
)
