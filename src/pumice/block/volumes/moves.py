"""Statuses of volumes and the moves between them (section 7 of the API)."""

from __future__ import annotations

from pumice.kernel import moves
from pumice.kernel.errors import Conflict
from pumice.kernel.moves import End, Move

STATUSES = frozenset(
    [
        "creating",
        "available",
        "reserved",
        "attaching",
        "detaching",
        "in-use",
        "maintenance",
        "deleting",
        "awaiting-transfer",
        "error",
        "error_deleting",
        "backing-up",
        "error_backing-up",
        "restoring-backup",
        "error_restoring",
        "downloading",
        "uploading",
        "retyping",
        "extending",
        "error_extending",
        "managing",
        "error_managing",
        "reverting",
        "unmanaging",
        "error_managing_deleting",
        "error_unmanaging",
    ]
)
"""All that may stand in a volume's status."""

MOVING = frozenset(
    [
        "creating",
        "deleting",
        "backing-up",
        "restoring-backup",
        "downloading",
        "uploading",
        "retyping",
        "extending",
        "managing",
        "reverting",
        "unmanaging",
        "error_managing_deleting",
    ]
)
"""Those that only a live operation may hold."""

DELETABLE = frozenset(("available", "error", "error_restoring", "error_extending", "error_managing", "error_deleting"))

CREATE, FORCE_DELETE = moves.CREATE, moves.FORCE_DELETE
DELETE = moves.deletion(DELETABLE)
EXTEND = Move(
    name="extend",
    start=frozenset({"available", "in-use"}),
    via="extending",
    done=End.PREVIOUS,
    failed="error_extending",
)
REVERT = Move(
    name="revert",
    start=frozenset({"available"}),
    via="reverting",
    done="available",
    failed="error",
    refusal=Conflict,
)
