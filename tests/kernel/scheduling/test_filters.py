from __future__ import annotations

import json
import logging
import math
from typing import Any

import pytest

from pumice.kernel.scheduling.filters import (
    AvailabilityZoneFilter,
    CapabilitiesFilter,
    CapacityFilter,
    DriverFilter,
    IgnoreAttemptedHostsFilter,
    JsonFilter,
)
from pumice.kernel.scheduling.plugins import Lookups
from pumice.kernel.scheduling.request import PlacementRequest
from pumice.kernel.scheduling.specs import matches
from tests.kernel.scheduling.build import hosts, pool, request

NOTHING = Lookups()


@pytest.mark.parametrize(
    ("zones", "expected"),
    [
        (set(), ["h@b#1", "h@b#2", "h@b#3"]),
        ({"east"}, ["h@b#1"]),
        ({"east", "west"}, ["h@b#1", "h@b#2"]),
        ({"south"}, []),
    ],
)
def test_availability_zones(zones: set[str], expected: list[str]) -> None:
    pools = [pool("h@b#1", zone="east"), pool("h@b#2", zone="west"), pool("h@b#3", zone="north")]
    assert hosts(AvailabilityZoneFilter(NOTHING).keep(request(zones=frozenset(zones)), pools)) == expected


THIN = {"thin": True, "max_over_subscription_ratio": 2.0}


@pytest.mark.parametrize(
    ("wanted", "figures", "passes"),
    [
        (request(100), {}, True),
        (request(101), {}, False),
        (request(91), {"reserved_percentage": 10}, False),
        (request(90), {"reserved_percentage": 10}, True),
        (request(80), {"pending_gb": 21}, False),
        (request(5), {"free": math.inf}, True),
        (request(5), {"free": None}, True),
        (request(5), {"free": 1.0, "total": math.inf}, True),
        (request(5), {"free": 1.0, "total": None, "reserved_percentage": 1}, False),
        (request(1), {"free": 1.0, "total": 0.0}, False),
        (request(200), THIN, True),
        (request(201), THIN, False),
        (request(51), {**THIN, "provisioned_gb": 150.0}, False),
        (request(21), {**THIN, "free": 10.0}, False),
        (request(101, thick=True), THIN, False),
        (request(100, thick=True), THIN, True),
    ],
)
def test_capacity(wanted: PlacementRequest, figures: dict[str, Any], passes: bool) -> None:
    assert bool(CapacityFilter(NOTHING).keep(wanted, [pool(**figures)])) is passes


@pytest.mark.parametrize(
    ("specs", "expected"),
    [
        ({}, ["h@b#1", "h@b#2", "h@b#3"]),
        ({"tier": "gold"}, ["h@b#1"]),
        ({"capabilities:tier": "<or> gold <or> silver"}, ["h@b#1", "h@b#2"]),
        ({"capabilities:disks:kind": "ssd"}, ["h@b#1"]),
        ({"capabilities:disks:kind": "<in> d"}, ["h@b#1", "h@b#2"]),
        ({"tier": "gold", "multiattach": "<is> True"}, ["h@b#1"]),
        ({"multiattach": "<is> True"}, ["h@b#1", "h@b#3"]),
        ({"codecs": "lz4"}, ["h@b#2", "h@b#3"]),
        ({"number": "1"}, ["h@b#1"]),
        ({"number": "True"}, ["h@b#2"]),
        ({"number": "== 1"}, ["h@b#1", "h@b#3"]),
        ({"free_capacity_gb": ">= 10"}, ["h@b#2"]),
        ({"nobody_has_it": "x"}, []),
        ({"tier": None}, ["h@b#3"]),
        ({"quality:anything": "x", "provisioning:type": "thin"}, ["h@b#1", "h@b#2", "h@b#3"]),
    ],
)
def test_capabilities(specs: dict[str, str | None], expected: list[str]) -> None:
    capabilities: list[dict[str, Any]] = [
        {"tier": "gold", "disks": {"kind": "ssd"}, "multiattach": True, "codecs": [], "number": 1,
         "free_capacity_gb": 5},
        {"tier": "silver", "disks": {"kind": "hdd"}, "multiattach": False, "codecs": ["lz4"], "number": True,
         "free_capacity_gb": 10.0},
        {"disks": "none", "multiattach": True, "codecs": "lz4", "number": 1.0, "free_capacity_gb": "unknown"},
    ]  # fmt: skip
    pools = [pool(f"h@b#{number}", capabilities=each) for number, each in enumerate(capabilities, 1)]
    assert hosts(CapabilitiesFilter(NOTHING).keep(request(extra_specs=specs), pools)) == expected


def test_capabilities_are_compared_as_each_alone_would_be() -> None:
    values = [None, 0, 1, 1.0, True, False, "1", "True", "x", [], ["x"], ["1", 2], {"a": 1}]
    pools = [pool(f"h@b#{number}", capabilities={"key": value}) for number, value in enumerate(values)]
    for spec in ("1", "True", "<is> true", "== 1", "<in> x", "!= 0", "<or> x <or> 2", None):
        kept = hosts(CapabilitiesFilter(NOTHING).keep(request(extra_specs={"key": spec}), pools))
        assert kept == [f"h@b#{number}" for number, value in enumerate(values) if matches(value, spec)], spec


def test_a_service_may_bring_other_operators() -> None:
    class Other(CapabilitiesFilter):
        operators = {**CapabilitiesFilter.operators, "<starts>": str.startswith}  # noqa: RUF012
        fold_case = True

    pools = [pool(capabilities={"tier": "golden"})]
    assert Other(NOTHING).keep(request(extra_specs={"tier": "<STARTS> gold"}), pools)
    assert not CapabilitiesFilter(NOTHING).keep(request(extra_specs={"tier": "<STARTS> gold"}), pools)


@pytest.mark.parametrize(
    ("function", "passes"),
    [
        (None, True),
        ("", True),
        ("volume.size < 10", True),
        ("volume.size > 10", False),
        ("stats.host == 'h@b#p' and extra.tier == 'gold'", True),
        ("capabilities.vendor_name == 'us'", True),
        ("qos.maxBWS > 1", False),
        ("volume.size <", False),
        ("1 / 0", False),
    ],
)
def test_filter_functions(function: str | None, passes: bool, caplog: pytest.LogCaptureFixture) -> None:
    wanted = request(attributes={"volume": {"size": 5}, "qos": {}}, extra_specs={"tier": "gold"})
    with caplog.at_level(logging.WARNING):
        kept = DriverFilter(NOTHING).keep(
            wanted, [pool(capabilities={"filter_function": function, "vendor_name": "us"})]
        )
    assert bool(kept) is passes
    broken = function in ("qos.maxBWS > 1", "volume.size <", "1 / 0")
    assert ("filter_function of pool h@b#p fails it" in caplog.text) is broken


def test_a_json_query(caplog: pytest.LogCaptureFixture) -> None:
    pools = [pool("h@b#1", capabilities={"free_capacity_gb": 10}), pool("h@b#2", capabilities={"free_capacity_gb": 99})]
    query = json.dumps(["or", [">", "$free_capacity_gb", 50], ["=", "$host", "nowhere"]])
    assert hosts(JsonFilter(NOTHING).keep(request(hints={"query": query}), pools)) == ["h@b#2"]
    assert JsonFilter(NOTHING).keep(request(), pools) == pools
    with caplog.at_level(logging.WARNING):
        assert JsonFilter(NOTHING).keep(request(hints={"query": '["xor"]'}), pools) == []
    assert "does not begin with one of" in caplog.text


def test_hosts_that_were_tried_before() -> None:
    pools = [pool("h@a#1"), pool("h@a#2"), pool("h@b#1"), pool("h@bb#1")]
    each = IgnoreAttemptedHostsFilter(NOTHING)
    assert each.keep(request(), pools) == pools
    assert hosts(each.keep(request(attempted=frozenset({"h@a#1", "h@b"})), pools)) == ["h@a#2", "h@bb#1"]
