"""Limits and usage of projects, of their users and share types, and of quota classes (section 19 of the API)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.kernel.api.values import boolean_word
from pumice.kernel.errors import BadRequest
from pumice.kernel.quotas import UNLIMITED, Quota, Quotas
from pumice.kernel.quotasets import Keys, QuotaSets, check_owner, given, named, refuse_below_use, with_usage
from pumice.kernel.types import find_type
from pumice.share.quotas import resources
from pumice.share.types.model import ShareType

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

SHOW = "quota_set:show"
TYPES_FROM = "2.39"
LONGEST_USER = 255

SINCE = {
    "share_groups": "2.40",
    "share_group_snapshots": "2.40",
    "share_replicas": "2.53",
    "replica_gigabytes": "2.53",
    "per_share_gigabytes": "2.62",
    "backups": "2.80",
    "backup_gigabytes": "2.80",
    "encryption_keys": "2.90",
}
"""First version that knows a resource, where that is not 2.0."""


def _keys(_tx: Session, req: Request) -> Keys:
    return {name: name for name in resources.RESOURCES if req.version >= SINCE.get(name, "2.0")}


SETS = QuotaSets(_keys, SHOW)


@dataclass(frozen=True, slots=True)
class _Asked:
    """Whose quotas a request is about: a project's, or those of one share type or of one user within it.

    :param keys: the API's name of each resource → its key in the scope
    """

    project_id: str
    keys: Keys
    whole: bool

    def limits(self, tx: Session, quotas: Quotas) -> dict[str, int]:
        """By key: the scope's own limit, else the project's, which bounds it in any case."""
        project = quotas.limits(tx, self.project_id, self.keys)
        own = quotas.own_limits(tx, self.project_id, self.keys.values())
        return {key: own.get(key, project[name]) for name, key in self.keys.items()}


def _asked(tx: Session, req: Request, project_id: str) -> _Asked:
    """:raises ApiError: the query names a user and a type, or a type that does not exist"""
    user_id, type_name = req.query.get("user_id"), req.query.get("share_type")
    names = _keys(tx, req)
    if type_name is not None and req.version < TYPES_FROM:
        raise BadRequest(f"share_type is refused: share types have quotas of their own from {TYPES_FROM} on.")
    if user_id and len(user_id) > LONGEST_USER:
        raise BadRequest(f"user_id is refused: at most {LONGEST_USER} characters are allowed.")
    if user_id and type_name:
        raise BadRequest("user_id and share_type are refused together: one of them is allowed.")
    if type_name is not None:
        found = find_type(tx, ShareType, req.scope, type_name)
        keys = {name: resources.of_type(name, found.id) for name in names if name in resources.OF_TYPES}
        return _Asked(project_id, keys, whole=False)
    if user_id:
        return _Asked(project_id, {name: resources.of_user(name, user_id) for name in names}, whole=False)
    return _Asked(project_id, names, whole=True)


def show(req: Request, id: str) -> dict[str, Any]:
    SETS.authorize_show(req, id)
    with req.service.db.read() as tx:
        asked = _asked(tx, req, id)
        limits = asked.limits(tx, req.service.quotas)
    return {"quota_set": {"id": id, **named(asked.keys, limits)}}


def detail(req: Request, id: str) -> dict[str, Any]:
    SETS.authorize_show(req, id)
    with req.service.db.read() as tx:
        asked = _asked(tx, req, id)
        limits = asked.limits(tx, req.service.quotas)
        used = req.service.quotas.usages(tx, id)
    shown = {key: with_usage(Quota(limit, used.get(key, 0))) for key, limit in limits.items()}
    return {"quota_set": {"id": id, **named(asked.keys, shown)}}


def update(req: Request, id: str) -> dict[str, Any]:
    check_owner(id)
    quotas, force = req.service.quotas, _force(req)

    def work(tx: Session) -> dict[str, int]:
        asked = _asked(tx, req, id)
        limits = given(req.body.quota_set, asked.keys)
        if not limits:
            raise BadRequest(f"Nothing is given: at least one of {', '.join(asked.keys)} with its limit is needed.")
        if not force:
            refuse_below_use(asked.keys, limits, quotas.usages(tx, id))
        if not force and not asked.whole:
            _refuse_above_project(asked.keys, limits, quotas.limits(tx, id, asked.keys))
        quotas.set_limits(tx, id, limits)
        return named(asked.keys, asked.limits(tx, quotas))

    return {"quota_set": req.service.db.write(work)}


def _force(req: Request) -> bool:
    word = req.body.quota_set.get("force", False)
    try:
        return boolean_word(str(word))
    except ValueError as error:
        raise BadRequest(f"force: {error}") from None


def _refuse_above_project(keys: Keys, limits: dict[str, int], project: dict[str, int]) -> None:
    for name, key in keys.items():
        limit, bound = limits.get(key), project[name]
        if limit is not None and bound != UNLIMITED and not 0 <= limit <= bound:
            raise BadRequest(f"{name}: {limit} is refused: it must be at most the project's limit, which is {bound}.")


def remove(req: Request, id: str) -> None:
    """Go back to what holds without limits of one's own; for a project, its types and users too."""
    check_owner(id)

    def work(tx: Session) -> None:
        asked = _asked(tx, req, id)
        req.service.quotas.drop_limits(tx, id, None if asked.whole else asked.keys.values())

    req.service.db.write(work)


_ABSOLUTE = (
    ("2.0", "maxTotalShares", "totalSharesUsed", "shares"),
    ("2.0", "maxTotalShareGigabytes", "totalShareGigabytesUsed", "gigabytes"),
    ("2.0", "maxTotalSnapshotGigabytes", "totalSnapshotGigabytesUsed", "snapshot_gigabytes"),
    ("2.0", "maxTotalShareSnapshots", "totalShareSnapshotsUsed", "snapshots"),
    ("2.0", "maxTotalShareNetworks", "totalShareNetworksUsed", "share_networks"),
    ("2.53", "maxTotalShareReplicas", "totalShareReplicasUsed", "share_replicas"),
    ("2.53", "maxTotalReplicaGigabytes", "totalReplicaGigabytesUsed", "replica_gigabytes"),
    ("2.58", "maxTotalShareGroups", "totalShareGroupsUsed", "share_groups"),
    ("2.58", "maxTotalShareGroupSnapshots", "totalShareGroupSnapshotsUsed", "share_group_snapshots"),
    ("2.80", "maxTotalShareBackups", "totalShareBackupsUsed", "backups"),
    ("2.80", "maxTotalBackupGigabytes", "totalBackupGigabytesUsed", "backup_gigabytes"),
)
"""First version, names of the limit and of what is used of it, resource."""


def limits(req: Request) -> dict[str, Any]:
    """The main limits of the caller's project: two look-ups by key, whatever the project holds."""
    rows = [row for row in _ABSOLUTE if req.version >= row[0]]
    with req.service.db.read() as tx:
        found = req.service.quotas.quotas(tx, req.context.project_id or "", [row[3] for row in rows])
    most = {limit: found[resource].limit for _, limit, _, resource in rows}
    used = {usage: found[resource].in_use for _, _, usage, resource in rows}
    return {"limits": {"rate": [], "absolute": most | used}}
