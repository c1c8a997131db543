"""Pools and requests for the tests of scheduling."""

from __future__ import annotations

from typing import Any

from pumice.kernel.scheduling.pool import BackendState, PoolState
from pumice.kernel.scheduling.request import PlacementRequest
from pumice.kernel.scheduling.scheduler import Ranking


def pool(
    host: str = "h@b#p", total: float | None = 100.0, free: float | None = 100.0, zone: str = "nova", **values: Any
) -> PoolState:
    state = {name: values.pop(name) for name in ("up", "disabled", "frozen") if name in values}
    backend = BackendState(host.partition("#")[0], zone, **state)
    return PoolState(host, backend, total, free, **values)


def request(gb: int = 1, **values: Any) -> PlacementRequest:
    return PlacementRequest(id="the-volume", gb=gb, **values)


def best_first(ranking: Ranking) -> list[str]:
    order = sorted(zip(ranking.weights, ranking.pools, strict=True), key=lambda pair: pair[0], reverse=True)
    return hosts([one for _, one in order])


def hosts(pools: Any) -> list[str]:
    return [each.host for each in pools]
