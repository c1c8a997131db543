"""What decides whether something may be done to a share: conditions, and what types say."""

from __future__ import annotations

import re

from sqlalchemy import exists

from pumice.kernel.errors import ApiError, BadRequest, Forbidden
from pumice.kernel.moves import Guard
from pumice.kernel.operations.holds import not_read
from pumice.share.projection import DEFERRED
from pumice.share.shares.model import Share, ShareInstance
from pumice.share.shares.moves import BUSY_TASKS
from pumice.share.snapshots.model import ShareSnapshot
from pumice.share.types.specs import MOUNT_POINT_NAMES, Specs, flag

_MOUNT_POINT = re.compile(r"[A-Za-z0-9_-]{1,255}")

_OF_SHARE = ShareSnapshot.share_id == ShareInstance.share_id
NOTHING_LEFT = Guard(~exists().where(_OF_SHARE), "The share has snapshots: delete them first.", Forbidden)
NO_SNAPSHOTS = Guard(
    ~exists().where(_OF_SHARE, ShareSnapshot.status.not_in(DEFERRED)),
    "The share has snapshots: delete them first.",
    Forbidden,
)
NOT_READ = not_read(ShareInstance.share_id, "share", Forbidden)
PLACED = Guard(ShareInstance.host.is_not(None), "The share is on no backend: it was never made.")


def refuse_recycled(share: Share) -> None:
    """:raises Forbidden: the share is in the recycle bin"""
    if share.is_soft_deleted:
        raise Forbidden(f"Share {share.id} is in the recycle bin: restore it first.")


def refuse_busy(share: Share, error: type[ApiError] = BadRequest) -> None:
    """:raises ApiError: a migration is under way"""
    if share.task_state in BUSY_TASKS:
        raise error(f"Share {share.id} is busy: its task state is {share.task_state}.")


def mount_point(specs: Specs, name: str, prefix: str) -> str:
    """The last part of a share's path as its creator wished for it, with the prefix.

    :raises BadRequest: the type does not allow wishes, or the name cannot be one
    """
    if not flag(specs, MOUNT_POINT_NAMES):
        raise BadRequest("mount_point_name is refused: the share type has no mount_point_name_support.")
    whole = f"{prefix}{name}"
    if not _MOUNT_POINT.fullmatch(name) or not _MOUNT_POINT.fullmatch(whole):
        raise BadRequest(
            "mount_point_name is refused: letters, digits, - and _ are allowed, 255 with the prefix at most."
        )
    return whole
