"""What live operations read from, and what therefore must not go away (`model.Hold`)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import exists

from pumice.kernel.errors import ApiError, BadRequest
from pumice.kernel.moves import Guard
from pumice.kernel.operations.model import Hold


def not_read(id: Any, what: str, error: type[ApiError] = BadRequest) -> Guard:
    """The condition that no operation reads from a resource.

    :param id: the column with the resource's id
    :param what: "snapshot"
    """
    return Guard(
        ~exists().where(Hold.resource_id == id),
        f"The {what} is being read by another request: try again when that has ended.",
        error,
    )
