"""Pools and what backends can do, as workers reported them (section 21 of the API)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pumice.block.admin import binaries
from pumice.block.types.model import VolumeType
from pumice.kernel.errors import BadRequest, NotFound
from pumice.kernel.scheduling.filters import CapabilitiesFilter
from pumice.kernel.scheduling.pool import PoolState
from pumice.kernel.scheduling.view import known_pools, open_pools
from pumice.kernel.types import find_type

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

FILTERS_FROM, CONFIGURED_FROM, TYPE_FROM = "3.28", "3.31", "3.35"
CONFIGURED = ("name", "volume_type")
NAMESPACE = "OS::Storage::Capabilities::"


def index(req: Request) -> dict[str, Any]:
    """The pools that new volumes may go to: those of backends that are up and enabled."""
    detail = req.query.boolean("detail")
    wanted = _wanted(req)
    pools: Sequence[PoolState] = open_pools(req.service, binaries.VOLUME)
    if (type_name := wanted.pop("volume_type", None)) is not None:
        with req.service.db.read() as tx:
            found = find_type(tx, VolumeType, req.scope, type_name)
        pools = CapabilitiesFilter.fitting(found.extra_specs, pools)
    pools = [pool for pool in pools if all(_has(pool, name, value) for name, value in wanted.items())]
    if not detail:
        return {"pools": [{"name": pool.host} for pool in pools]}
    return {"pools": [{"name": pool.host, "capabilities": dict(pool.capabilities)} for pool in pools]}


def _wanted(req: Request) -> dict[str, str]:
    """The filters that count at this version; from 3.31 on the configured ones, for admins too."""
    given = {name: value for name, value in req.query if name != "detail"}
    if req.version < FILTERS_FROM:
        return {}
    configured = req.service.resource_filters.get("pool", CONFIGURED)
    unknown = sorted(given.keys() - set(configured))
    if unknown and req.version >= CONFIGURED_FROM:
        allowed = ", ".join(configured) or "none"
        raise BadRequest(f"the filter {unknown[0]} is refused for pools; allowed are: {allowed}")
    if req.version < TYPE_FROM:
        given.pop("volume_type", None)
    return given


def _has(pool: PoolState, name: str, value: str) -> bool:
    found = pool.host if name == "name" else pool.capabilities.get(name)
    return found is not None and str(found).lower() == value.lower()


def capabilities(req: Request, host: str) -> dict[str, Any]:
    """What a backend ("host@backend") or one of its pools ("host@backend#pool") is."""
    backend, _, pool_name = host.partition("#")
    pools = known_pools(req.service, binaries.VOLUME)
    found = [pool for pool in pools if pool.backend == backend and pool_name in {"", pool.host.partition("#")[2]}]
    if not found:
        raise NotFound(f"Backend {host} could not be found.")
    reported = found[0].capabilities
    return {
        "namespace": f"{NAMESPACE}{host}",
        "vendor_name": reported.get("vendor_name"),
        "volume_backend_name": reported.get("volume_backend_name"),
        "pool_name": pool_name or None,
        "driver_version": reported.get("driver_version"),
        "storage_protocol": reported.get("storage_protocol"),
        "display_name": reported.get("display_name"),
        "description": reported.get("description"),
        "visibility": "pool" if pool_name else "public",
        "replication_targets": [],
        "properties": reported.get("properties", {}),
    }
