"""Statuses of shares and the moves between them (section 5 of the API). Instances move, shares follow."""

from __future__ import annotations

from pumice.kernel import moves
from pumice.kernel.errors import Conflict, Forbidden
from pumice.kernel.moves import Move
from pumice.share.projection import deferred

STATUSES = (
    "creating",
    "creating_from_snapshot",
    "available",
    "error",
    "deleting",
    "deleted",
    "error_deleting",
    "deferred_deleting",
    "error_deferred_deleting",
    "manage_starting",
    "manage_error",
    "unmanage_starting",
    "unmanage_error",
    "manage_error_unmanage_starting",
    "unmanaged",
    "extending",
    "extending_error",
    "shrinking",
    "shrinking_error",
    "shrinking_possible_data_loss_error",
    "migrating",
    "migrating_to",
    "server_migrating",
    "server_migrating_to",
    "replication_change",
    "restoring",
    "reverting",
    "reverting_error",
    "reverting_to_snapshot",
    "awaiting_transfer",
    "backup_creating",
    "backup_restoring",
    "backup_restoring_error",
    "ensuring",
)
"""All that may stand in a share's status."""

INSTANCE_STATUSES = (
    "creating",
    "available",
    "deleting",
    "error",
    "error_deleting",
    "migrating",
    "migrating_to",
    "server_migrating",
)
"""Those that an administrator may give an instance."""

MOVING = frozenset(
    (
        "creating",
        "creating_from_snapshot",
        "deleting",
        "extending",
        "shrinking",
        "reverting",
        "manage_starting",
        "unmanage_starting",
        "ensuring",
        "deferred_deleting",
    )
)
"""Those that only a live operation may hold."""

TRANSITIONAL = frozenset(
    (
        "creating",
        "creating_from_snapshot",
        "deleting",
        "manage_starting",
        "unmanage_starting",
        "extending",
        "shrinking",
        "migrating",
        "migrating_to",
        "restoring",
        "reverting",
        "server_migrating",
        "server_migrating_to",
        "backup_restoring",
        "backup_creating",
        "ensuring",
        "reverting_to_snapshot",
        "deferred_deleting",
    )
)
"""Those in which access rules stay as they are and nobody takes a share out of our hands."""

BUSY_TASKS = frozenset(
    (
        "migration_starting",
        "migration_in_progress",
        "migration_completing",
        "migration_driver_starting",
        "migration_driver_in_progress",
        "migration_driver_phase1_done",
        "migration_cancel_in_progress",
        "data_copying_starting",
        "data_copying_in_progress",
        "data_copying_completing",
        "data_copying_completed",
    )
)
"""Task states of a migration under way."""

TASKS = (
    "migration_starting",
    "migration_in_progress",
    "migration_completing",
    "migration_success",
    "migration_error",
    "migration_cancelled",
    "migration_driver_in_progress",
    "migration_driver_phase1_done",
    "data_copying_starting",
    "data_copying_in_progress",
    "data_copying_completing",
    "data_copying_completed",
    "data_copying_cancelled",
    "data_copying_error",
)
"""Those that an administrator may give a share."""

DELETABLE = frozenset(("available", "error", "inactive"))

CREATE, FORCE_DELETE = moves.CREATE, moves.FORCE_DELETE
# A deletion that failed can be asked for again.
DELETE = moves.deletion(DELETABLE | {"error_deleting"}, Forbidden)
DEFERRED_DELETE = deferred(DELETE)
EXTEND = Move(
    name="extend", start=frozenset({"available"}), via="extending", done="available", failed="extending_error"
)
SHRINK = Move(
    name="shrink",
    start=frozenset({"available", "shrinking_possible_data_loss_error"}),
    via="shrinking",
    done="available",
    failed="shrinking_error",
)
REVERT = Move(
    name="revert",
    start=frozenset({"available"}),
    via="reverting",
    done="available",
    failed="reverting_error",
    refusal=Conflict,
)
