"""What lists of access rules are filtered and sorted by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from pumice.kernel.api.values import shown
from pumice.kernel.db.filters import pairs
from pumice.kernel.db.paging import Filter, Listing
from pumice.kernel.db.scope import everything
from pumice.share.access import targets
from pumice.share.access.model import AccessRule
from pumice.share.access.shapes import LEVELS, may_read
from pumice.share.locks.model import ResourceLock

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

FILTERS_FROM = "2.82"
SECRETS = ("access_to", "access_key")
"""Filters that would tell what a restricted rule hides."""


def _type(text: str, req: Request) -> ColumnElement[bool]:
    if text not in targets.types_at(req.version):
        raise ValueError(f"{shown(text)} is refused: one of {', '.join(targets.types_at(req.version))} is allowed")
    return AccessRule.access_type == text


def _target(text: str, req: Request) -> ColumnElement[bool]:
    access_type = req.query.get("access_type")
    if access_type is None:
        raise ValueError("the filter needs access_type beside it")
    targets.check(access_type, text, req.version)
    return AccessRule.access_to == text


def _level(text: str, _req: Request) -> ColumnElement[bool]:
    if text not in LEVELS:
        raise ValueError(f"{shown(text)} is refused: {' or '.join(LEVELS)} is allowed")
    return AccessRule.access_level == text


def _key(text: str, _req: Request) -> ColumnElement[bool]:
    return AccessRule.access_key == text


RULES: Listing[AccessRule] = Listing(
    AccessRule,
    "share_access_rule",
    configured=("access_type", "access_to", "access_level", "access_key", "metadata"),
    filters=(
        Filter("access_type", _type, since=FILTERS_FROM),
        Filter("access_to", _target, since=FILTERS_FROM),
        Filter("access_level", _level, since=FILTERS_FROM),
        Filter("access_key", _key, since=FILTERS_FROM),
        Filter("metadata", AccessRule.meta, pairs),
    ),
    sort={
        "id": AccessRule.id,
        "access_type": AccessRule.access_type,
        "access_to": AccessRule.access_to,
        "access_level": AccessRule.access_level,
        "state": AccessRule.state,
        "created_at": AccessRule.created_at,
        "updated_at": AccessRule.updated_at,
    },
    secret=frozenset(("access_key",)),
    other=frozenset(("share_id",)),
)


def conditions(tx: Session, req: Request, share_id: str) -> list[Any]:
    """The rules of a share that this request may ask for."""
    found: list[Any] = [AccessRule.share_id == share_id]
    if req.version >= FILTERS_FROM and any(name in req.query for name in SECRETS):
        of_share = everything().columns(AccessRule, AccessRule.id).where(AccessRule.share_id == share_id)
        hides = (ResourceLock.resource_action == "show", ResourceLock.rule_id.in_(of_share))
        locks = tx.scalars(everything().select(ResourceLock).where(*hides))
        found.append(AccessRule.id.not_in([lock.rule_id for lock in locks if not may_read(lock, req)]))
    return found
