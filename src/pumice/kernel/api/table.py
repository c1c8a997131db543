"""A service's API as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pumice.kernel.api.routes import Route, Rule
from pumice.kernel.api.versions import Dialect
from pumice.kernel.db.paging import Listing


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """`API` in `pumice.<service>.routes`.

    :param helpers: policy rules that only other rules ask
    :param helper_of: check string → the helper that stands for it
    :param listings: whose filters an operator may configure; `other_filters` are of lists that are not of rows
    """

    dialect: Dialect
    table: Sequence[Route]
    rules: Sequence[Rule]
    helpers: Sequence[Rule] = ()
    helper_of: Mapping[str, str] = field(default_factory=dict)
    listings: Sequence[Listing[Any]] = ()
    other_filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
