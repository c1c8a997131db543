from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from pumice.block.scheduling.filters import InstanceLocalityFilter
from pumice.kernel.scheduling.filters import DifferentBackendFilter, SameBackendFilter
from pumice.kernel.scheduling.plugins import Filter, Lookups
from tests.kernel.scheduling.build import hosts, pool, request

BACKENDS = {("mine", "v1"): "one@fast", ("mine", "v2"): "two@fast", ("theirs", "v3"): "two@slow"}
SERVERS = {"s1": "one"}


def homes_of(project: str, ids: Collection[str]) -> set[str]:
    return {BACKENDS[project, each] for each in ids if (project, each) in BACKENDS}


LOOKUPS = Lookups(homes_of=homes_of, server_host=SERVERS.get)
POOLS = [pool("one@fast#a"), pool("one@fast#b"), pool("two@fast#a"), pool("two@slow#a"), pool("oneone@fast#a")]
ALL = hosts(POOLS)


@pytest.mark.parametrize(
    ("filter_class", "hints", "expected"),
    [
        (SameBackendFilter, {}, ALL),
        (SameBackendFilter, {"same_host": "v1"}, ["one@fast#a", "one@fast#b"]),
        (SameBackendFilter, {"same_host": ["v1", "v2"]}, ["one@fast#a", "one@fast#b", "two@fast#a"]),
        (SameBackendFilter, {"same_host": ["v1", "unknown"]}, ["one@fast#a", "one@fast#b"]),
        (SameBackendFilter, {"same_host": "unknown"}, []),
        (SameBackendFilter, {"same_host": "v3"}, []),
        (SameBackendFilter, {"same_host": []}, ALL),
        (DifferentBackendFilter, {}, ALL),
        (DifferentBackendFilter, {"different_host": "v1"}, ["two@fast#a", "two@slow#a", "oneone@fast#a"]),
        (DifferentBackendFilter, {"different_host": ["v1", "v2"]}, ["two@slow#a", "oneone@fast#a"]),
        (DifferentBackendFilter, {"different_host": "v3"}, ALL),
        (InstanceLocalityFilter, {}, ALL),
        (InstanceLocalityFilter, {"local_to_instance": "s1"}, ["one@fast#a", "one@fast#b"]),
        (InstanceLocalityFilter, {"local_to_instance": "s2"}, []),
    ],
)
def test_hints(filter_class: type[Filter], hints: dict[str, Any], expected: list[str]) -> None:
    kept = filter_class(LOOKUPS).keep(request(hints=hints, project_id="mine"), POOLS)
    assert hosts(kept) == expected


def test_without_a_compute_service_no_host_is_local() -> None:
    assert InstanceLocalityFilter(Lookups()).keep(request(hints={"local_to_instance": "s1"}), POOLS) == []
