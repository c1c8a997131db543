"""Choosing a pool: filter, weigh, claim; and again for whoever lost the claim."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from pumice.kernel.scheduling.plugins import Filter, Weigher
from pumice.kernel.scheduling.pool import PoolState
from pumice.kernel.scheduling.request import PlacementRequest
from pumice.kernel.scheduling.weighers import Choice, best, total_weights

LOG = logging.getLogger(__name__)

ROUNDS = 200
"""Claims that one placement may lose. Each was won by another, so the pools are all but full by then."""


class Pools(Protocol):
    """Where the scheduler sees pools (`view.PoolView`)."""

    def pools(self) -> Sequence[PoolState]: ...

    def reread(self, hosts: Collection[str] | None = None) -> None:
        """Take these pools' rows, or all that changed, from the database now."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Pools that will do with their weights, the chosen one of them, and how many were left after each step."""

    pools: Sequence[PoolState]
    weights: Sequence[float]
    chosen: PoolState | None
    steps: tuple[tuple[str, int], ...]

    @property
    def emptied_by(self) -> str | None:
        """The step (a filter's class name, or "known", "in service") after which no pool was left."""
        return next((name for name, left in self.steps if not left), None)

    def explain(self) -> str:
        return ", ".join(f"{name}: {left}" for name, left in self.steps)


class NoValidPool(Exception):
    """No pool will do.

    With `unsure`, a pool that is only short of room may have it: its last sample was taken while things were
    being built or removed. The next sample tells; ask again then.
    """

    def __init__(self, ranking: Ranking, *, unsure: bool) -> None:
        super().__init__(f"no pool will do; pools left after each step: {ranking.explain()}")
        self.emptied_by = ranking.emptied_by
        self.unsure = unsure


class Scheduler:
    """:param choose: picks one of the weights"""

    def __init__(self, filters: Sequence[Filter], weighers: Sequence[Weigher], choose: Choice = best) -> None:
        self.filters = filters
        self.weighers = weighers
        self.choose = choose

    def rank(self, request: PlacementRequest, pools: Sequence[PoolState]) -> Ranking:
        steps = [("known", len(pools))]
        pools = _in_service(request, pools)
        steps.append(("in service", len(pools)))
        for each in self.filters:
            if not pools:
                break
            pools = each.keep(request, pools)
            steps.append((type(each).__name__, len(pools)))
        if not pools:
            return Ranking([], [], None, tuple(steps))
        weights = total_weights(self.weighers, request, pools)
        return Ranking(pools, weights, pools[self.choose(weights)], tuple(steps))

    def place(self, request: PlacementRequest, view: Pools, claim: Callable[[PoolState], bool]) -> PoolState:
        """Have `claim` take the best pool that has room, and return it.

        `claim` runs the transaction with `pool.claim` in it and returns False when that did. Then the pool is read
        again and all are ranked anew; the request is refused only on what the database says at that moment.

        :raises NoValidPool:
        """
        sure = False
        for _ in range(ROUNDS):
            ranking = self.rank(request, view.pools())
            chosen = ranking.chosen
            if chosen is not None:
                won = claim(chosen)
                view.reread([chosen.host])
                if won:
                    LOG.info("%s goes to %s; pools left: %s", request.id, chosen.host, ranking.explain())
                    return chosen
                sure = False
            elif sure:
                break
            else:
                view.reread()
                sure = True
        raise NoValidPool(ranking, unsure=chosen is not None or self._hopeful(request, view.pools()))

    def _hopeful(self, request: PlacementRequest, pools: Sequence[PoolState]) -> bool:
        return self.rank(request, [pool.hopeful() for pool in pools if pool.unsure_gb > 0]).chosen is not None


def covers(name: str, host: str) -> bool:
    """Whether the pool `host` belongs to the host, backend or pool called `name`."""
    return host == name or (host.startswith(name) and host[len(name)] in "@#")


def _in_service(request: PlacementRequest, pools: Sequence[PoolState]) -> list[PoolState]:
    """Pools of live backends that are not disabled.

    A pool that failed this request before is not tried again, whatever filters are configured.
    """
    only = request.only
    if only is not None:
        pools = [pool for pool in pools if covers(only, pool.host)]
    return [pool for pool in pools if pool.state.taking and pool.host not in request.attempted]
