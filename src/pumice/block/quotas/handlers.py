"""Limits and usage of projects and quota classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.block.quotas import resources
from pumice.block.types.model import VolumeType
from pumice.kernel.db.scope import everything
from pumice.kernel.quotasets import Keys, QuotaSets, check_owner, given, named, refuse_below_use, with_usage

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

SHOW = "volume_extension:quotas:show"
USED_LIMITS = "limits_extension:used_limits"


def _keys(tx: Session, req: Request) -> Keys:
    """Of types, the caller knows those that it may see."""
    scope = everything() if req.context.is_admin else req.own
    return resources.keys(tx.scalars(scope.select(VolumeType).order_by(VolumeType.name)))


SETS = QuotaSets(_keys, SHOW)


def show(req: Request, id: str) -> dict[str, Any]:
    SETS.authorize_show(req, id)
    usage = req.query.boolean("usage")
    quotas = req.service.quotas
    with req.service.db.read() as tx:
        keys = _keys(tx, req)
        if not usage:
            return {"quota_set": {"id": id, **named(keys, quotas.limits(tx, id, keys.values()))}}
        found = quotas.quotas(tx, id, keys.values())
    return {"quota_set": {"id": id, **named(keys, {key: with_usage(one) for key, one in found.items()})}}


def update(req: Request, id: str) -> dict[str, Any]:
    check_owner(id)
    quotas = req.service.quotas

    def work(tx: Session) -> dict[str, int]:
        keys = _keys(tx, req)
        limits = given(req.body.quota_set, keys)
        refuse_below_use(keys, limits, quotas.usages(tx, id))
        quotas.set_limits(tx, id, limits)
        return named(keys, quotas.limits(tx, id, keys.values()))

    return {"quota_set": req.service.db.write(work)}


def remove(req: Request, id: str) -> None:
    check_owner(id)
    req.service.db.write(lambda tx: req.service.quotas.drop_limits(tx, id))


_LIMITS = {
    "maxTotalVolumeGigabytes": "gigabytes",
    "maxTotalBackupGigabytes": "backup_gigabytes",
    "maxTotalVolumes": "volumes",
    "maxTotalSnapshots": "snapshots",
    "maxTotalBackups": "backups",
}
_USED = {
    "totalVolumesUsed": "volumes",
    "totalGigabytesUsed": "gigabytes",
    "totalSnapshotsUsed": "snapshots",
    "totalBackupsUsed": "backups",
    "totalBackupGigabytesUsed": "backup_gigabytes",
}


def limits(req: Request) -> dict[str, Any]:
    """The main limits of one project: two look-ups by key, whatever the project holds."""
    project_id = req.context.project_id or ""
    if req.version >= "3.39" and req.context.is_admin:
        project_id = req.query.get("project_id") or req.query.get("tenant_id") or project_id
    with req.service.db.read() as tx:
        found = req.service.quotas.quotas(tx, project_id, _LIMITS.values())
    absolute = {name: found[resource].limit for name, resource in _LIMITS.items()}
    if req.allowed(USED_LIMITS):
        absolute |= {name: found[resource].in_use for name, resource in _USED.items()}
    return {"limits": {"rate": [], "absolute": absolute}}
