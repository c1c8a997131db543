"""Routes for operators, and what clients look up beforehand (sections 2 and 19 of the API)."""

from __future__ import annotations

from typing import Any

from pumice.kernel.api.routes import ADMIN, READER, Route
from pumice.share.admin import catalog, pools, services, shapes, zones
from pumice.share.renamed import renamed


def _service(word: str, handler: Any, body: Any) -> list[Route]:
    route = Route("PUT", f"/services/{word}", handler, "service:update", ADMIN, body=body)
    return renamed(f"/os-services/{word}", route)


ROUTES = [
    *renamed(
        "/os-services",
        Route(
            "GET",
            "/services",
            services.index,
            "service:index",
            ADMIN,
            answer={"services": list[shapes.ServiceDetail]},
        ),
    ),
    *_service("enable", services.enable, shapes.OneService),
    *_service("disable", services.disable, shapes.DisableService),
    Route(
        "POST",
        "/services/ensure-shares",
        services.ensure,
        "service:ensure_shares",
        ADMIN,
        since=shapes.ENSURING_FROM,
        body=shapes.EnsureShares,
        success=202,
    ),
    *renamed(
        "/os-availability-zone",
        Route(
            "GET",
            "/availability-zones",
            zones.index,
            "availability_zone:index",
            READER,
            answer={"availability_zones": list[shapes.Zone]},
        ),
    ),
    Route(
        "GET",
        "/scheduler-stats/pools",
        pools.index,
        "scheduler_stats:pools:index",
        ADMIN,
        answer={"pools": list[shapes.PoolSummary]},
    ),
    Route(
        "GET",
        "/scheduler-stats/pools/detail",
        pools.detail,
        "scheduler_stats:pools:detail",
        ADMIN,
        answer={"pools": list[shapes.PoolDetail]},
    ),
    Route("GET", "/extensions", catalog.extensions, ""),
    Route("GET", "/extensions/{alias}", catalog.extension, ""),
]
