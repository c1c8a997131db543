"""Filters that only volumes have: near a server."""

from __future__ import annotations

from collections.abc import Sequence

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
