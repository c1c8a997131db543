"""The filters that every service has."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from types import NoneType
from typing import Any

from pumice.kernel.scheduling import jsonquery, specs
from pumice.kernel.scheduling.expressions import ExpressionError, Names, evaluate
from pumice.kernel.scheduling.plugins import Filter, Lookups
from pumice.kernel.scheduling.pool import PoolState
from pumice.kernel.scheduling.request import PlacementRequest

LOG = logging.getLogger(__name__)

PLAIN = {str, bool, int, float}


class AvailabilityZoneFilter(Filter):
    """The backend's zone is one of those that will do."""

    def keep(self, request: PlacementRequest, pools: Sequence[PoolState]) -> Sequence[PoolState]:
        zones = request.zones
        return [pool for pool in pools if pool.state.availability_zone in zones] if zones else pools


class CapacityFilter(Filter):
    """The pool has room: the same rule as `pool.claim`."""

    def keep(self, request: PlacementRequest, pools: Sequence[PoolState]) -> Sequence[PoolState]:
        room = attrgetter("thick_room" if request.thick else "thin_room")
        gb = request.gb
        return [pool for pool in pools if room(pool) >= gb]


class CapabilitiesFilter(Filter):
    """The pool has what the extra specs ask for."""

    operators: Mapping[str, specs.Operator] = specs.OPERATORS
    fold_case = False

    def keep(self, request: PlacementRequest, pools: Sequence[PoolState]) -> Sequence[PoolState]:
        for path, spec in specs.wanted(request.extra_specs):
            pools = self._matching(pools, path, spec)
        return pools

    @classmethod
    def fitting(cls, extra_specs: Mapping[str, Any], pools: Sequence[PoolState]) -> Sequence[PoolState]:
        """The pools that a type's resources could be on, whatever their size."""
        return cls(Lookups()).keep(PlacementRequest(id="", gb=0, extra_specs=extra_specs), pools)

    def _matching(self, pools: Sequence[PoolState], path: list[str], spec: str | None) -> list[PoolState]:
        """Many pools report the same values: each is compared once."""
        first, *deeper = path
        values = [pool.capabilities.get(first) for pool in pools]
        if deeper:
            values = [specs.capability(value, deeper) for value in values]
        # 1, 1.0 and True are one key of a dict but three texts, and lists are none.
        kinds = set(map(type, values)) - {NoneType}
        keys = values if len(kinds) == 1 and kinds < PLAIN else list(map(repr, values))
        answers = {
            key: specs.matches(value, spec, operators=self.operators, fold_case=self.fold_case)
            for key, value in dict(zip(keys, values, strict=True)).items()
        }
        return [pool for pool, key in zip(pools, keys, strict=True) if answers[key]]


class DriverFilter(Filter):
    """The pool's `filter_function` is true. A broken one fails the pool."""

    def keep(self, request: PlacementRequest, pools: Sequence[PoolState]) -> Sequence[PoolState]:
        return [pool for pool in pools if self._passes(request, pool)]

    def _passes(self, request: PlacementRequest, pool: PoolState) -> bool:
        function = pool.capabilities.get("filter_function")
        if not function:
            return True
        try:
            return bool(evaluate(str(function), names_of(request, pool)))
        except ExpressionError as error:
            LOG.warning("filter_function of pool %s fails it: %s", pool.host, error)
            return False


class JsonFilter(Filter):
    """The hint `query`, a JSON expression over the pool's values, is true."""

    def keep(self, request: PlacementRequest, pools: Sequence[PoolState]) -> Sequence[PoolState]:
        text = request.hints.get("query")
        if not text:
            return pools
        try:
            query = jsonquery.parse(str(text))
        except jsonquery.QueryError as error:
            LOG.warning("no pool for %s: %s", request.id, error)
            return []
        return [pool for pool in pools if jsonquery.holds(query, values_of(pool))]


class IgnoreAttemptedHostsFilter(Filter):
    """Neither the pool nor its backend was tried before."""

    def keep(self, request: PlacementRequest, pools: Sequence[PoolState]) -> Sequence[PoolState]:
        tried = request.attempted
        return [pool for pool in pools if not _is_among(pool, tried)] if tried else pools


class SameBackendFilter(Filter):
    """The hint `same_host` names resources: only backends (or pools, see `Lookups`) that hold one of them."""

    def keep(self, request: PlacementRequest, pools: Sequence[PoolState]) -> Sequence[PoolState]:
        others = _ids(request.hints.get("same_host"))
        if not others:
            return pools
        homes = self.lookups.homes_of(request.project_id, others)
        return [pool for pool in pools if _is_among(pool, homes)]


class DifferentBackendFilter(Filter):
    """The hint `different_host` names resources: only backends (or pools, see `Lookups`) that hold none of them."""

    def keep(self, request: PlacementRequest, pools: Sequence[PoolState]) -> Sequence[PoolState]:
        others = _ids(request.hints.get("different_host"))
        if not others:
            return pools
        homes = self.lookups.homes_of(request.project_id, others)
        return [pool for pool in pools if not _is_among(pool, homes)]


def values_of(pool: PoolState) -> dict[str, Any]:
    """The pool's values as queries and functions see them: its capabilities, its name and its zone."""
    return {
        **pool.capabilities,
        "host": pool.host,
        "backend": pool.backend,
        "availability_zone": pool.state.availability_zone,
    }


def names_of(request: PlacementRequest, pool: PoolState) -> Names:
    """What a pool's functions may read of the request and the pool."""
    return {
        "stats": values_of(pool),
        "capabilities": pool.capabilities,
        "extra": request.extra_specs,
        **request.attributes,
    }


def _is_among(pool: PoolState, names: Collection[str]) -> bool:
    """Whether the pool or its backend is named."""
    return pool.host in names or pool.backend in names


def _ids(hint: Any) -> list[str]:
    """A hint is one id or a list of them."""
    return [str(one) for one in hint] if isinstance(hint, list) else [hint] if hint else []
