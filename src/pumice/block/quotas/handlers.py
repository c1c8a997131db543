"""Limits and usage of projects and quota classes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.block.quotas import resources
from pumice.block.types.model import VolumeType
from pumice.kernel.api.values import integer
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import BadRequest
from pumice.kernel.quotas import UNLIMITED

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

SHOW = "volume_extension:quotas:show"
USED_LIMITS = "limits_extension:used_limits"
BESIDE = frozenset({"id", "tenant_id", "project_id", "class_name", "force", "skip_validation"})
"""Keys that clients send beside the resources, and that have no meaning here."""

_OWNER = re.compile(r"[^:]{1,200}")
_LIMIT = integer(UNLIMITED)


def show(req: Request, id: str) -> dict[str, Any]:
    _authorize_show(req, id)
    usage = req.query.boolean("usage")
    quotas = req.service.quotas
    with req.service.db.read() as tx:
        keys = _keys(tx, req)
        if not usage:
            return {"quota_set": {"id": id, **_named(keys, quotas.limits(tx, id, keys.values()))}}
        found = quotas.quotas(tx, id, keys.values())
    # What is being made or grown is in use already: nothing is ever reserved.
    shown = {key: {"limit": one.limit, "in_use": one.in_use, "reserved": 0} for key, one in found.items()}
    return {"quota_set": {"id": id, **_named(keys, shown)}}


def defaults(req: Request, id: str) -> dict[str, Any]:
    _authorize_show(req, id)
    return {"quota_set": {"id": id, **_class_limits(req, "default")}}


def update(req: Request, id: str) -> dict[str, Any]:
    _check_owner(id)
    quotas = req.service.quotas

    def work(tx: Session) -> dict[str, int]:
        keys = _keys(tx, req)
        limits = _given(req.body.quota_set, keys)
        used = quotas.usages(tx, id)
        names = {key: name for name, key in keys.items()}
        for key, limit in limits.items():
            if limit != UNLIMITED and used.get(key, 0) > limit:
                raise BadRequest(f"{names[key]}: {limit} is below what is in use, which is {used[key]}.")
        quotas.set_limits(tx, id, limits)
        return _named(keys, quotas.limits(tx, id, keys.values()))

    return {"quota_set": req.service.db.write(work)}


def remove(req: Request, id: str) -> None:
    _check_owner(id)
    req.service.db.write(lambda tx: req.service.quotas.drop_limits(tx, id))


def show_class(req: Request, name: str) -> dict[str, Any]:
    return {"quota_class_set": {"id": name, **_class_limits(req, name)}}


def _class_limits(req: Request, name: str) -> dict[str, int]:
    with req.service.db.read() as tx:
        keys = _keys(tx, req)
        return _named(keys, req.service.quotas.class_limits(tx, name, keys.values()))


def update_class(req: Request, name: str) -> dict[str, Any]:
    _check_owner(name)
    quotas = req.service.quotas

    def work(tx: Session) -> dict[str, int]:
        keys = _keys(tx, req)
        quotas.set_limits(tx, f"class:{name}", _given(req.body.quota_class_set, keys))
        return _named(keys, quotas.class_limits(tx, name, keys.values()))

    return {"quota_class_set": req.service.db.write(work)}


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


def _authorize_show(req: Request, project_id: str) -> None:
    _check_owner(project_id)
    req.authorize(SHOW, {"project_id": project_id, "user_id": req.context.user_id})


def _check_owner(owner: str) -> None:
    """A project of that name could be taken for a class, or has none of the databases' lengths."""
    if not _OWNER.fullmatch(owner):
        raise BadRequest("The id of a project or class is refused: 1 to 200 characters without a colon are allowed.")


def _keys(tx: Session, req: Request) -> dict[str, str]:
    """The resources by the API's names; of types, those that the caller may see."""
    scope = everything() if req.context.is_admin else req.own
    return resources.keys(tx.scalars(scope.select(VolumeType).order_by(VolumeType.name)))


def _named(keys: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[key] for name, key in keys.items()}


def _given(body: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, int]:
    """The limits in a body by the tables' keys.

    :raises BadRequest: a resource that is none, or a limit that is none, or nothing at all
    """
    if not body:
        raise BadRequest("Nothing is given: at least one resource with its limit is needed.")
    limits = {name: value for name, value in body.items() if name not in BESIDE}
    if unknown := sorted(limits.keys() - keys.keys()):
        raise BadRequest(f"Not known to quotas: {', '.join(unknown)[:200]}; allowed are: {', '.join(keys)[:1000]}.")
    try:
        return {keys[name]: _LIMIT.parse(value) for name, value in limits.items()}
    except ValueError as error:
        raise BadRequest(f"A limit of {', '.join(sorted(limits))[:200]}: {error}") from None
