"""Hosts: workers in an older form, with what volumes and snapshots a host holds."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, func, or_
from sqlalchemy.orm import Session

from pumice.block.admin import binaries
from pumice.block.admin.shapes import HostSummary
from pumice.block.snapshots.model import Snapshot
from pumice.block.volumes.model import Volume
from pumice.kernel import services
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import NotFound

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

TOTAL = "(total)"


def index(req: Request) -> dict[str, Any]:
    with req.service.db.read() as tx:
        rows = services.find(tx, availability_zone=req.query.get("zone") or None, disabled=False)
    return {"hosts": req.views(HostSummary, rows)}


def show(req: Request, host: str) -> dict[str, Any]:
    with req.service.db.read() as tx:
        rows = [row for row in services.find(tx, host=host, binary=binaries.VOLUME) if row.host == host]
        if not rows:
            raise NotFound(f"Host {host} could not be found.")
        found = _held(tx, rows[0].cluster or host)
    totals = [sum(column) for column in zip(*found.values(), strict=True)] or [0, 0, 0, 0]
    return {"host": [_resource(host, project, numbers) for project, numbers in [(TOTAL, totals), *found.items()]]}


def _held(tx: Session, backend: str) -> dict[str, list[int]]:
    """Volumes, their GiB, snapshots and their GiB, by project."""
    here = on_backend(backend)
    sums = (func.count(), func.coalesce(func.sum(Volume.size), 0))
    volumes = everything().columns(Volume, Volume.project_id, *sums).where(here).group_by(Volume.project_id)
    sums = (func.count(), func.coalesce(func.sum(Snapshot.size), 0))
    snapshots = everything().columns(Snapshot, Snapshot.project_id, *sums).join(Volume, Volume.id == Snapshot.volume_id)
    found: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for project, count, size in tx.execute(volumes):
        found[project][:2] = count, int(size)
    for project, count, size in tx.execute(snapshots.where(here).group_by(Snapshot.project_id)):
        found[project][2:] = count, int(size)
    return dict(sorted(found.items()))


def on_backend(backend: str) -> ColumnElement[bool]:
    """Volumes on any pool of "host@backend"."""
    return or_(Volume.host == backend, Volume.host.startswith(f"{backend}#", autoescape=True))


def _resource(host: str, project: str, numbers: list[int]) -> dict[str, dict[str, str]]:
    names = ("volume_count", "total_volume_gb", "snapshot_count", "total_snapshot_gb")
    return {
        "resource": {"host": host, "project": project}
        | {name: str(number) for name, number in zip(names, numbers, strict=True)}
    }


def update(req: Request, host: str) -> dict[str, Any]:
    disabled = req.body.status == "disable"

    def work(tx: Session) -> None:
        rows = [row for row in services.find(tx, host=host) if row.host == host]
        if not rows:
            raise NotFound(f"Host {host} could not be found.")
        for row in rows:
            services.set_disabled(tx, host, row.binary, disabled)

    req.service.db.write(work)
    return {"host": host, "status": "disabled" if disabled else "enabled"}
