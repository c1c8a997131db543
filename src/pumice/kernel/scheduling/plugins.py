"""What a filter and a weigher are, and how those named in the configuration are found.

Both see all pools at once: with thousands of pools, a call for each would cost more than the decision.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from stevedore.named import NamedExtensionManager

from pumice.kernel.scheduling.pool import PoolState
from pumice.kernel.scheduling.request import PlacementRequest

FILTERS, WEIGHERS = "pumice.scheduler.filters", "pumice.scheduler.weighers"

LAST = -math.inf
"""The weight of a pool about which the weigher knows nothing; it ranks last whatever the multiplier."""


@dataclass(frozen=True, slots=True)
class Lookups:
    """Questions that filters and weighers ask the service they run in."""

    homes_of: Callable[[str, Collection[str]], Collection[str]] = lambda _project, _ids: ()
    """(project id, resource ids) -> where those of them are that exist there, as backends ("host@backend") or pools."""
    server_host: Callable[[str], str | None] = lambda _server: None
    """The compute host that runs a server, None when there is no such server."""
    resources_on: Callable[[], Mapping[str, int]] = dict
    """The number of resources by pool."""


class Filter(ABC):
    def __init__(self, lookups: Lookups) -> None:
        self.lookups = lookups

    @abstractmethod
    def keep(self, request: PlacementRequest, pools: Sequence[PoolState]) -> Sequence[PoolState]:
        """Those of the pools that will do."""


class Weigher(ABC):
    option: ClassVar[str | None] = None
    """The configuration option that holds the multiplier."""

    def __init__(self, lookups: Lookups, multiplier: float = 1.0) -> None:
        self.lookups = lookups
        self.multiplier = multiplier

    @abstractmethod
    def weigh(self, request: PlacementRequest, pools: Sequence[PoolState]) -> list[float]:
        """A weight for each pool, on any scale; `math.inf` and `LAST` are allowed."""


class PluginMissing(Exception):
    """The configuration names a filter or weigher that is not installed or cannot be loaded."""


def load_filters(names: Sequence[str], lookups: Lookups) -> list[Filter]:
    """:raises PluginMissing:"""
    return [plugin(lookups) for plugin in _classes(FILTERS, names, Filter)]


def load_weighers(names: Sequence[str], lookups: Lookups, conf: Mapping[str, Any]) -> list[Weigher]:
    """:param conf: has the multipliers, as a `ConfigOpts` does
    :raises PluginMissing:
    """
    return [
        plugin(lookups, conf[plugin.option]) if plugin.option else plugin(lookups)
        for plugin in _classes(WEIGHERS, names, Weigher)
    ]


def _classes(namespace: str, names: Sequence[str], base: type) -> list[type[Any]]:
    def missing(absent: Iterable[str]) -> None:
        raise PluginMissing(f"{', '.join(sorted(absent))}: not found in the entry points {namespace}")

    def broken(_manager: object, entry: object, error: BaseException) -> None:
        raise PluginMissing(f"{entry} cannot be loaded: {error}") from error

    found: NamedExtensionManager[Any] = NamedExtensionManager(
        namespace,
        list(names),
        name_order=True,
        on_missing_entrypoints_callback=missing,
        on_load_failure_callback=broken,
    )
    classes = [extension.plugin for extension in found]
    for plugin in classes:
        if not (isinstance(plugin, type) and issubclass(plugin, base)):
            raise PluginMissing(f"{plugin!r} in {namespace} is no {base.__name__}")
    return classes
