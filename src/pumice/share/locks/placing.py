"""Placing locks, asking for them, and removing those whose resource goes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import delete, exists
from sqlalchemy.orm import Session

from pumice.kernel import moves
from pumice.kernel.auth.context import RequestContext
from pumice.kernel.db.base import new_id
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import BadRequest, Conflict, Forbidden
from pumice.kernel.moves import Guard
from pumice.share.access.model import AccessRule
from pumice.share.locks.model import ResourceLock
from pumice.share.projection import DEFERRED
from pumice.share.shares.model import Share

SHARE, RULE = "share", "access_rule"
ACTIONS = {SHARE: ("delete",), RULE: ("delete", "show")}
"""What can be locked of each type of resource."""

_UNFIT_SHARES = (
    *DEFERRED,
    "deleting",
    "error_deleting",
    "unmanage_starting",
    "manage_error_unmanage_starting",
    "unmanage_error",
    "unmanaged",
    "deleted",
)
_UNFIT_RULES = ("queued_to_deny", "denying", "error", "deleted")


def unlocked(share_id: Any) -> Guard:
    """The condition that no lock keeps a share from being deleted, unmanaged or put into the recycle bin.

    Whoever asks for it has touched the share's row before, as `place` does.

    :param share_id: the column that names the share: `Share.id`, `ShareInstance.share_id`
    """
    locked = exists().where(
        ResourceLock.resource_type == SHARE,
        ResourceLock.resource_id == share_id,
        ResourceLock.resource_action == "delete",
    )
    return Guard(~locked, "The share is locked against deletion: remove its resource locks first.", Forbidden)


def context_of(context: RequestContext) -> str:
    """As whom a caller places locks: user, admin or service."""
    if is_service(context):
        return "service"
    return "admin" if context.is_admin else "user"


def is_service(context: RequestContext) -> bool:
    return "service" in context.roles or "service" in context.service_roles


def may_change(context: RequestContext, lock: ResourceLock) -> bool:
    """Whether the caller may change or remove a lock, by who placed it."""
    if context.is_admin:
        return True
    if lock.lock_context == "user":
        owner = (lock.user_id, lock.project_id) == (context.user_id, context.project_id)
        return owner or is_service(context)
    return lock.lock_context == "service" and is_service(context)


def place(
    tx: Session,
    context: RequestContext,
    resource_type: str,
    resource_id: str,
    *,
    action: str,
    reason: str | None,
    rule_id: str | None,
) -> ResourceLock:
    """Lock a share or a rule, which meanwhile cannot change.

    :param rule_id: the rule that the lock lives with, be it on the rule or on its share
    :raises ApiError: as `suit`
    """
    suit(tx, resource_type, resource_id, action)
    lock = ResourceLock(
        id=new_id(),
        project_id=context.project_id or "",
        user_id=context.user_id,
        resource_type=resource_type,
        resource_id=resource_id,
        resource_action=action,
        lock_context=context_of(context),
        lock_reason=reason,
        rule_id=rule_id,
    )
    tx.add(lock)
    tx.flush()
    return lock


def suit(tx: Session, resource_type: str, resource_id: str, action: str) -> None:
    """See that a resource can be locked against an action now, and keep it from changing in this transaction.

    :raises NotFound: there is no such resource
    :raises BadRequest: the action is not one of the resource's
    :raises Conflict: the resource is in a state in which it is not locked, or hidden already
    """
    allowed = ACTIONS[resource_type]
    if action not in allowed:
        raise BadRequest(
            f"resource_action {action} is refused for a {resource_type}: {' or '.join(allowed)} is allowed."
        )
    if resource_type == SHARE:
        share = moves.lock(tx, Share, resource_id)
        if share.is_soft_deleted:
            raise Conflict(f"Share {share.id} is in the recycle bin: it cannot be locked.")
        if share.status in _UNFIT_SHARES:
            raise Conflict(f"Share {share.id} has status {share.status}, in which it cannot be locked.")
        return
    rule = moves.lock(tx, AccessRule, resource_id)
    if action == "delete" and rule.state in _UNFIT_RULES:
        raise Conflict(f"Access rule {rule.id} has state {rule.state}, in which it cannot be locked.")
    if action == "show" and locks_of(tx, RULE, rule.id, "show"):
        raise Conflict(f"Access rule {rule.id} has a lock of the action show already.")


def drop_of_rules(tx: Session, ids: Collection[str]) -> None:
    """Remove the locks that live with rules: on them, and those on their shares that were made for them."""
    tx.execute(delete(ResourceLock).where(ResourceLock.rule_id.in_(ids)))


def drop_of_share(tx: Session, share_id: str) -> None:
    """Remove the locks on a share that goes; those on its rules go with them."""
    tx.execute(delete(ResourceLock).where(ResourceLock.resource_type == SHARE, ResourceLock.resource_id == share_id))


def locks_of(tx: Session, resource_type: str, resource_id: str, action: str) -> list[ResourceLock]:
    wanted = (
        ResourceLock.resource_type == resource_type,
        ResourceLock.resource_id == resource_id,
        ResourceLock.resource_action == action,
    )
    return list(tx.scalars(everything().select(ResourceLock).where(*wanted).order_by(ResourceLock.created_at)))
