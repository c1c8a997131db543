from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from pumice.kernel.scheduling.plugins import LAST, Lookups, Weigher
from pumice.kernel.scheduling.pool import PoolState
from pumice.kernel.scheduling.request import PlacementRequest
from pumice.kernel.scheduling.scheduler import Scheduler
from pumice.kernel.scheduling.weighers import (
    AllocatedCapacityWeigher,
    CapacityWeigher,
    ChanceWeigher,
    FreeRatioWeigher,
    GoodnessWeigher,
    VolumeNumberWeigher,
    best,
    chance,
    total_weights,
)
from tests.kernel.scheduling.build import best_first, pool, request

NOTHING = Lookups()


def order(weigher: Weigher, pools: list[PoolState], wanted: PlacementRequest | None = None) -> list[str]:
    return best_first(Scheduler([], [weigher]).rank(wanted or request(), pools))


def test_capacity_prefers_more_free_space() -> None:
    pools = [pool("h@b#10", free=10.0), pool("h@b#30", free=30.0), pool("h@b#20", free=40.0, pending_gb=20)]
    assert order(CapacityWeigher(NOTHING), pools) == ["h@b#30", "h@b#20", "h@b#10"]
    assert order(CapacityWeigher(NOTHING, -1.0), pools) == ["h@b#10", "h@b#20", "h@b#30"]


def test_capacity_of_thin_pools_is_what_may_be_promised() -> None:
    thin = pool("h@b#thin", free=20.0, thin=True, max_over_subscription_ratio=10.0)
    pools = [thin, pool("h@b#thick", free=60.0)]
    assert order(CapacityWeigher(NOTHING), pools) == ["h@b#thin", "h@b#thick"]
    assert order(CapacityWeigher(NOTHING), pools, request(thick=True)) == ["h@b#thick", "h@b#thin"]


ODD: list[dict[str, Any]] = [
    {"host": "h@b#unknown", "free": None},
    {"host": "h@b#five", "free": 5.0},
    {"host": "h@b#infinite", "free": math.inf},
    {"host": "h@b#sixty", "free": 60.0},
    {"host": "h@b#blank", "free": None, "total": None},
]


def test_infinite_is_first_and_unknown_last() -> None:
    found = order(CapacityWeigher(NOTHING), [pool(**each) for each in ODD])
    assert found[:3] == ["h@b#infinite", "h@b#sixty", "h@b#five"]
    assert order(FreeRatioWeigher(NOTHING), [pool(**each) for each in ODD])[:3] == found[:3]


def test_unknown_stays_last_when_pools_are_to_be_filled_up() -> None:
    found = order(CapacityWeigher(NOTHING, -1.0), [pool(**each) for each in ODD])
    assert found[:3] == ["h@b#five", "h@b#sixty", "h@b#infinite"]


@pytest.mark.parametrize("weigher", [CapacityWeigher, FreeRatioWeigher, AllocatedCapacityWeigher, GoodnessWeigher])
@pytest.mark.parametrize("multiplier", [1.0, -1.0, 0.0])
@pytest.mark.parametrize(
    "figures",
    [
        {"free": None, "total": None},
        {"free": math.inf, "total": math.inf},
        {"free": 5.0, "total": None},
        {"free": 5.0, "total": None, "reserved_percentage": 10},
        {"free": 0.0, "total": 0.0},
        {"free": -5.0, "total": 10.0},
        {"free": 0.0, "total": 10.0, "thin": True},
    ],
)
def test_no_figures_crash_a_weigher(weigher: type[Weigher], multiplier: float, figures: dict[str, Any]) -> None:
    for pools in ([pool(**figures)], [pool(**figures)] * 2, [pool(**figures), pool()]):
        weights = total_weights([weigher(NOTHING, multiplier)], request(), pools)
        assert len(weights) == len(pools)
        assert all(math.isfinite(weight) for weight in weights)


def fill(pools: dict[str, PoolState], count: int, weigher: Weigher) -> Counter[str]:
    """Place `count` times 1 GiB, as claims would."""
    scheduler = Scheduler([], [weigher])
    placed: Counter[str] = Counter()
    for _ in range(count):
        chosen = scheduler.rank(request(), list(pools.values())).chosen
        assert chosen
        placed[chosen.host] += 1
        more = replace(chosen, allocated_gb=chosen.allocated_gb + 1, pending_gb=chosen.pending_gb + 1)
        pools[chosen.host] = more
    return placed


@pytest.mark.parametrize(
    "figures",
    [
        [{"total": 73.0, "free": 73.0}, {"total": 59.0, "free": 59.0}],
        [{"total": 100.0, "free": 73.0}, {"total": 100.0, "free": 59.0}],
        [{"total": 80.0, "free": 73.0, "thin": True, "max_over_subscription_ratio": 20.0},
         {"total": 80.0, "free": 59.0, "thin": True, "max_over_subscription_ratio": 20.0}],
    ],
)  # fmt: skip
def test_the_default_spreads_over_nearly_equal_pools(figures: list[dict[str, Any]]) -> None:
    pools = {f"h@b#{number}": pool(f"h@b#{number}", **each) for number, each in enumerate(figures)}
    assert min(fill(dict(pools), 10, FreeRatioWeigher(NOTHING)).values()) >= 4
    assert len(fill(dict(pools), 10, CapacityWeigher(NOTHING))) == 1, "all go to the largest"


def test_the_default_fills_pools_of_unlike_size_at_the_same_rate() -> None:
    pools = {name: pool(name, total=size, free=size) for name, size in {"h@b#s": 50.0, "h@b#l": 500.0}.items()}
    placed = fill(pools, 110, FreeRatioWeigher(NOTHING))
    assert placed["h@b#s"] == pytest.approx(10, abs=1)


def test_the_default_leaves_a_much_fuller_pool_alone() -> None:
    pools = {"h@b#full": pool("h@b#full", free=20.0), "h@b#free": pool("h@b#free", free=90.0)}
    assert fill(pools, 10, FreeRatioWeigher(NOTHING)) == {"h@b#free": 10}


def test_allocated_capacity_and_number_of_volumes() -> None:
    pools = [pool("h@b#1", allocated_gb=30), pool("h@b#2", allocated_gb=10), pool("h@b#3", allocated_gb=20)]
    assert order(AllocatedCapacityWeigher(NOTHING, -1.0), pools) == ["h@b#2", "h@b#3", "h@b#1"]
    counted = Lookups(resources_on=lambda: {"h@b#1": 1, "h@b#2": 3})
    assert order(VolumeNumberWeigher(counted, -1.0), pools) == ["h@b#3", "h@b#1", "h@b#2"]


@pytest.mark.parametrize(
    ("function", "weight"),
    [
        (None, 0),
        ("70", 70),
        ("volume.size * 5", 50),
        ("1000", 100),
        ("0 - 5", 0),
        ("(volume.name == 'x') ? 100 : 50", 100),
        ("True", 1),
        ("'70'", 70),
        ("None", 0),
        ("1 / 0", 0),
        ("broken(", 0),
        ("'text'", 0),
        ("'nan'", 0),
        ("volume.unknown", 0),
    ],
)
def test_goodness(function: str | None, weight: float) -> None:
    wanted = request(attributes={"volume": {"size": 10, "name": "x"}})
    assert GoodnessWeigher(NOTHING).weigh(wanted, [pool(capabilities={"goodness_function": function})]) == [weight]


def test_weights_are_brought_to_one_scale_and_multiplied() -> None:
    pools = [
        pool("h@b#1", free=100.0, capabilities={"goodness_function": "0"}),
        pool("h@b#2", free=75.0, capabilities={"goodness_function": "100"}),
        pool("h@b#3", free=50.0, capabilities={"goodness_function": "50"}),
    ]
    capacity, goodness = CapacityWeigher(NOTHING, 1.0), GoodnessWeigher(NOTHING, 2.0)
    assert total_weights([capacity, goodness], request(), pools) == [1.0, 2.5, 1.0]
    assert total_weights([], request(), pools) == [0.0, 0.0, 0.0]


def test_equals_are_shared_out() -> None:
    assert {best([1.0, 3.0, 3.0, 2.0]) for _ in range(200)} == {1, 2}
    drawn = ChanceWeigher(NOTHING).weigh(request(), [pool()] * 20)
    assert len(set(drawn)) == 20
    assert all(0 <= weight < 1 for weight in drawn)


def test_the_stochastic_choice_follows_the_weights() -> None:
    drawn = Counter(chance([1.0, 2.0, 4.0]) for _ in range(2000))
    assert drawn[0] == 0
    assert drawn[2] / drawn[1] == pytest.approx(3, rel=0.35)
    assert {chance([1.0, 1.0]) for _ in range(200)} == {0, 1}


def test_last_is_below_everything_that_is_weighed() -> None:
    class Fixed(Weigher):
        def weigh(self, _request: PlacementRequest, pools: Any) -> list[float]:
            return [LAST, 5.0, math.inf, 7.0][: len(pools)]

    four = [pool(f"h@b#{number}") for number in range(4)]
    assert order(Fixed(NOTHING), four) == ["h@b#2", "h@b#3", "h@b#1", "h@b#0"]
    assert order(Fixed(NOTHING, -3.0), four) == ["h@b#1", "h@b#3", "h@b#2", "h@b#0"]
    assert order(Fixed(NOTHING), four[:1]) == ["h@b#0"]
