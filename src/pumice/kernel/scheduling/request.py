"""What the scheduler is asked: where may this resource go?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRequest:
    """One resource that looks for a pool.

    `zones` are the availability zones that will do (empty: any), `only` restricts to a host, a backend
    ("host@backend") or a pool ("host@backend#pool"), `attempted` holds pools that failed this request before.
    `attributes` are the names that filter and goodness functions may read besides the pool's: for a volume
    {"volume": {"size": 1, ...}, "qos": {...}}; `extra_specs` they read as `extra`.
    """

    id: str
    gb: int
    project_id: str = ""
    zones: frozenset[str] = frozenset()
    extra_specs: Mapping[str, str | None] = field(default_factory=dict)
    hints: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    attempted: frozenset[str] = frozenset()
    only: str | None = None
    thick: bool = False
