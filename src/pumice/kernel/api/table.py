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

    :param resources: modules with `ROUTES` and, where they have rules that no route names, `RULES`
    :param helpers: policy rules that only other rules ask
    :param helper_of: check string → the helper that stands for it
    :param listings: whose filters an operator may configure; `other_filters` are of lists that are not of rows
    """

    dialect: Dialect
    resources: Sequence[Any]
    table: Sequence[Route] = field(init=False)
    rules: Sequence[Rule] = field(init=False)
    helpers: Sequence[Rule] = ()
    helper_of: Mapping[str, str] = field(default_factory=dict)
    listings: Sequence[Listing[Any]] = ()
    other_filters: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", [route for one in self.resources for route in one.ROUTES])
        object.__setattr__(self, "rules", [rule for one in self.resources for rule in getattr(one, "RULES", ())])
