"""Workers: which there are, and which of them take no new work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.block.admin import binaries
from pumice.block.admin.shapes import HostOrCluster, OneService, ServiceDetail, VolumeServiceDetail
from pumice.kernel import services
from pumice.kernel.errors import BadRequest

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


def index(req: Request) -> dict[str, Any]:
    binary = req.query.get("binary") or req.query.get("service")
    with req.service.db.read() as tx:
        rows = services.find(tx, host=req.query.get("host") or None, binary=binary or None)
    views = [VolumeServiceDetail if row.binary == binaries.VOLUME else ServiceDetail for row in rows]
    return {"services": [req.view(view, row) for view, row in zip(views, rows, strict=True)]}


def enable(req: Request) -> dict[str, Any]:
    return _set_disabled(req, False, None)


def disable(req: Request) -> dict[str, Any]:
    return _set_disabled(req, True, None)


def disable_with_reason(req: Request) -> dict[str, Any]:
    reason = req.body.disabled_reason
    return _set_disabled(req, True, reason) | {"disabled_reason": reason}


def _set_disabled(req: Request, disabled: bool, reason: str | None) -> dict[str, Any]:
    body: OneService = req.body

    def work(tx: Session) -> None:
        services.set_disabled(tx, body.host, body.name, disabled, reason)

    req.service.db.write(work)
    return {
        "host": body.host,
        "service": body.service,
        "binary": body.binary,
        "disabled": disabled,
        "status": "disabled" if disabled else "enabled",
    }


def freeze(req: Request) -> None:
    _set_frozen(req, True)


def thaw(req: Request) -> None:
    _set_frozen(req, False)


def _set_frozen(req: Request, frozen: bool) -> None:
    body: HostOrCluster = req.body

    def work(tx: Session) -> None:
        services.set_frozen(tx, binaries.VOLUME, frozen, host=body.host, cluster=body.cluster)

    req.service.db.write(work)


def failover(req: Request) -> None:
    """Refused always: no driver replicates, so replication is enabled nowhere.

    :raises BadRequest:
    """
    body: HostOrCluster = req.body
    if (body.host is None) == (body.cluster is None):
        raise BadRequest("Exactly one of host and cluster is needed.")
    name = body.host or body.cluster
    with req.service.db.read() as tx:
        rows = services.find(tx, binary=binaries.VOLUME, host=body.host, cluster=body.cluster)
    if not rows:
        raise BadRequest(f"No {binaries.VOLUME} service is known as {name}.")
    raise BadRequest(
        f"{name} cannot fail over: its replication status is {rows[0].replication_status}; "
        "enabled or failed-over is needed."
    )
