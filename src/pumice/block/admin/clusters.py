"""Clusters of workers (3.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.block.admin import binaries
from pumice.block.admin.shapes import ClusterDetail, ClusterSummary, DisabledCluster
from pumice.kernel import services
from pumice.kernel.api.views import View
from pumice.kernel.errors import BadRequest, NotFound

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

TEXTS = frozenset({"name", "binary"})
BOOLEANS = frozenset({"is_up", "disabled"})
NUMBERS = frozenset({"num_hosts", "num_down_hosts"})
REPLICATION = "3.26"
"""First version with what concerns replication."""


def index(req: Request) -> dict[str, Any]:
    return _list(req, ClusterSummary)


def detail(req: Request) -> dict[str, Any]:
    return _list(req, ClusterDetail)


def _list(req: Request, view: type[View]) -> dict[str, Any]:
    with req.service.db.read() as tx:
        rows = _find(tx, req, **_filters(req))
    return {"clusters": req.views(view, rows)}


def _find(tx: Session, req: Request, **filters: Any) -> list[services.ClusterState]:
    return services.clusters(tx, req.service.conf.service_down_time, **filters)


def _filters(req: Request) -> dict[str, Any]:
    replication = req.version >= REPLICATION
    texts = TEXTS | {"replication_status", "active_backend_id"} if replication else TEXTS
    booleans = BOOLEANS | {"frozen"} if replication else BOOLEANS
    found: dict[str, Any] = {}
    for name, value in req.query:
        if name in texts:
            found[name] = value
        elif name in booleans:
            found[name] = req.query.boolean(name)
        elif name in NUMBERS:
            found[name] = req.query.integer(name)
        else:
            allowed = ", ".join(sorted(texts | booleans | NUMBERS))
            raise BadRequest(f"the filter {name} is refused for clusters; allowed are: {allowed}")
    return found


def show(req: Request, name: str) -> dict[str, Any]:
    with req.service.db.read() as tx:
        return {"cluster": req.view(ClusterDetail, _one(tx, req, name, binaries.VOLUME))}


def enable(req: Request) -> dict[str, Any]:
    return {"cluster": req.view(ClusterSummary, _set_disabled(req, False, None))}


def disable(req: Request) -> dict[str, Any]:
    return {"cluster": req.view(DisabledCluster, _set_disabled(req, True, req.body.disabled_reason))}


def _set_disabled(req: Request, disabled: bool, reason: str | None) -> services.ClusterState:
    name, binary = req.body.name, req.body.binary

    def work(tx: Session) -> services.ClusterState:
        services.set_cluster_disabled(tx, name, binary, disabled, reason)
        return _one(tx, req, name, binary)

    return req.service.db.write(work)


def _one(tx: Session, req: Request, name: str, binary: str) -> services.ClusterState:
    for found in _find(tx, req, name=name, binary=binary):
        return found
    raise NotFound(f"Cluster {name} of {binary} could not be found.")
