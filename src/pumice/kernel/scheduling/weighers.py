"""The weighers that every service has, and how weights become an order."""

from __future__ import annotations

import logging
import math
import operator
import random
from collections.abc import Callable, Sequence

from pumice.kernel.scheduling.expressions import ExpressionError, evaluate
from pumice.kernel.scheduling.filters import names_of
from pumice.kernel.scheduling.plugins import LAST, Weigher
from pumice.kernel.scheduling.pool import PoolState
from pumice.kernel.scheduling.request import PlacementRequest

LOG = logging.getLogger(__name__)

NEARLY = 0.8
"""Free ratios of at least this part of the best one count as equal."""

Choice = Callable[[Sequence[float]], int]
"""The index of the chosen one of these weights."""


class CapacityWeigher(Weigher):
    """More free space is better; for thin resources, more that may still be promised."""

    option = "capacity_weight_multiplier"

    def weigh(self, request: PlacementRequest, pools: Sequence[PoolState]) -> list[float]:
        return [_free(pool, request.thick) for pool in pools]


class FreeRatioWeigher(Weigher):
    """A larger free part of the pool is better, and among nearly equal pools, a smaller part placed by us.

    Free space alone sends everything to the largest pool until it is as full as the next. Here pools of unlike
    size fill at the same rate, and pools that differ a little because of other data share what comes.
    """

    option = "free_ratio_weight_multiplier"

    def weigh(self, request: PlacementRequest, pools: Sequence[PoolState]) -> list[float]:
        ratios = [pool.thick_free_ratio if request.thick else pool.thin_free_ratio for pool in pools]
        best = max(ratios, default=0.0)
        if best == math.inf:
            best = max((ratio for ratio in ratios if ratio < math.inf), default=0.0)
        if best <= 0:
            return ratios
        nearly, rest = NEARLY * best, (1 - NEARLY) * best
        return [
            ratio if not nearly <= ratio < math.inf else nearly + rest * (1 - pool.placed_ratio)
            for ratio, pool in zip(ratios, pools, strict=True)
        ]


class AllocatedCapacityWeigher(Weigher):
    """Less placed by us is better (its multiplier is negative)."""

    option = "allocated_capacity_weight_multiplier"

    def weigh(self, _request: PlacementRequest, pools: Sequence[PoolState]) -> list[float]:
        return [float(pool.allocated_gb) for pool in pools]


class VolumeNumberWeigher(Weigher):
    """Fewer resources are better (its multiplier is negative)."""

    option = "volume_number_multiplier"

    def weigh(self, _request: PlacementRequest, pools: Sequence[PoolState]) -> list[float]:
        counts = self.lookups.resources_on()
        return [float(counts.get(pool.host, 0)) for pool in pools]


class GoodnessWeigher(Weigher):
    """What the pool's `goodness_function` gives, between 0 and 100; none or a broken one gives 0."""

    def weigh(self, request: PlacementRequest, pools: Sequence[PoolState]) -> list[float]:
        return [self._goodness(request, pool) for pool in pools]

    def _goodness(self, request: PlacementRequest, pool: PoolState) -> float:
        function = pool.capabilities.get("goodness_function")
        if not function:
            return 0.0
        try:
            goodness = float(evaluate(str(function), names_of(request, pool)) or 0)
        except (ExpressionError, ValueError) as error:
            LOG.warning("goodness_function of pool %s counts as 0: %s", pool.host, error)
            return 0.0
        return min(100.0, max(0.0, goodness)) if not math.isnan(goodness) else 0.0


class ChanceWeigher(Weigher):
    """At random."""

    def weigh(self, _request: PlacementRequest, pools: Sequence[PoolState]) -> list[float]:
        return [random.random() for _ in pools]  # noqa: S311


def total_weights(weighers: Sequence[Weigher], request: PlacementRequest, pools: Sequence[PoolState]) -> list[float]:
    """The sum of all weighers' weights, each brought to 0..1 and multiplied, for each pool."""
    totals: list[float] = []
    for weigher in weighers:
        scaled = _scaled(weigher.weigh(request, pools), weigher.multiplier)
        totals = list(map(operator.add, totals, scaled)) if totals else scaled
    return totals or [0.0] * len(pools)


def best(weights: Sequence[float]) -> int:
    """The greatest; one of the equals at random, so that schedulers do not collide."""
    greatest = max(weights)
    return random.choice([index for index, weight in enumerate(weights) if weight == greatest])  # noqa: S311


def chance(weights: Sequence[float]) -> int:
    """At random, in proportion to what each weight has above the least one."""
    least = min(weights)
    above = [weight - least for weight in weights]
    return random.choices(range(len(weights)), above if any(above) else None)[0]  # noqa: S311


CHOICES: dict[str, Choice] = {"OrderedHostHandler": best, "StochasticHostHandler": chance}
"""By the values of the option `scheduler_weight_handler`."""


def _free(pool: PoolState, thick: bool) -> float:
    free = pool.free_gb
    if free is None:
        return LAST
    room = pool.thick_room if thick else pool.thin_room
    return free - pool.pending_gb if room == math.inf > free else room


def _scaled(weights: list[float], multiplier: float) -> list[float]:
    """Finite weights to 0..1 times the multiplier, without bound above them, `LAST` below all others."""
    if not weights:
        return weights
    low, high = min(weights), max(weights)
    if low == LAST or high == math.inf:
        return _scaled_unbounded(weights, multiplier)
    step = multiplier / ((high - low) or 1.0)
    return [(weight - low) * step for weight in weights]


def _scaled_unbounded(weights: list[float], multiplier: float) -> list[float]:
    finite = [weight for weight in weights if math.isfinite(weight)] or [0.0]
    low, high = min(finite), max(finite)
    margin = (high - low) or 1.0
    top = high + margin if math.inf in weights else high
    step = multiplier / ((top - low) or 1.0)
    least = min(0.0, (top - low) * step) - abs(multiplier)
    return [least if weight == LAST else (min(weight, top) - low) * step for weight in weights]
