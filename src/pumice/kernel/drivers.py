"""What drivers of all services have in common: how they fail, and what they report of a pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class BackendError(Exception):
    """The backend refused or failed a call. The text goes to the operator's log and, shortened, to the user."""


class NoSpace(BackendError):
    """The backend has no room left for the call."""


class ObjectMissing(BackendError):
    """A source that the call needs (what to clone, what to revert to) is not on the backend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStats:
    """A sample of one pool, true at the moment it was taken. None = unknown, `float('inf')` = without bound.

    `extra` are further capabilities, which types may ask for.
    """

    name: str
    total_gb: float | None
    free_gb: float | None
    provisioned_gb: float = 0.0
    thin: bool = False
    reserved_percentage: int = 0
    max_over_subscription_ratio: float = 20.0
    filter_function: str | None = None
    goodness_function: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
