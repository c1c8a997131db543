"""Filters that only volumes have: near a server, with other volumes, away from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pumice.kernel.scheduling.plugins import Filter
from pumice.kernel.scheduling.pool import PoolState
from pumice.kernel.scheduling.request import PlacementRequest


class InstanceLocalityFilter(Filter):
    """The hint `local_to_instance` names a server: only pools of the host that runs it."""

    def keep(self, request: PlacementRequest, pools: Sequence[PoolState]) -> Sequence[PoolState]:
        server = request.hints.get("local_to_instance")
        if not server:
            return pools
        host = self.lookups.server_host(str(server))
        return [pool for pool in pools if pool.host.partition("@")[0] == host]


class SameBackendFilter(Filter):
    """The hint `same_host` names volumes: only backends that hold one of them."""

    def keep(self, request: PlacementRequest, pools: Sequence[PoolState]) -> Sequence[PoolState]:
        volumes = _ids(request.hints.get("same_host"))
        if not volumes:
            return pools
        backends = self.lookups.backends_of(request.project_id, volumes)
        return [pool for pool in pools if pool.backend in backends]


class DifferentBackendFilter(Filter):
    """The hint `different_host` names volumes: only backends that hold none of them."""

    def keep(self, request: PlacementRequest, pools: Sequence[PoolState]) -> Sequence[PoolState]:
        volumes = _ids(request.hints.get("different_host"))
        if not volumes:
            return pools
        backends = self.lookups.backends_of(request.project_id, volumes)
        return [pool for pool in pools if pool.backend not in backends]


def _ids(hint: Any) -> list[str]:
    """A hint is one id or a list of them."""
    return [str(one) for one in hint] if isinstance(hint, list) else [hint] if hint else []
