"""Access rules of shares over the API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.kernel import moves
from pumice.kernel.db.base import new_id
from pumice.kernel.db.records import hang
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import BadRequest, Conflict, Forbidden, NotFound
from pumice.kernel.metadata import MetadataOf
from pumice.share.access import rules, targets
from pumice.share.access.listing import RULES, conditions
from pumice.share.access.model import AccessRule
from pumice.share.access.operations import ask
from pumice.share.access.shapes import RuleDetail, RuleView
from pumice.share.locks import placing
from pumice.share.locks.model import ResourceLock
from pumice.share.shares.model import Share, ShareInstance
from pumice.share.shares.moves import TRANSITIONAL
from pumice.share.shares.moving import active

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

METADATA = MetadataOf(
    model=AccessRule,
    path="/share-access-rules/{id}",
    policies=("", "", "share_access_metadata:update", "share_access_metadata:delete"),
)


def dress(tx: Session, found: Sequence[AccessRule]) -> Sequence[AccessRule]:
    """Give rules their show locks and instances, which answers show; two queries, whatever the number."""
    hides = (ResourceLock.resource_action == "show", ResourceLock.rule_id.in_([rule.id for rule in found]))
    locks = {lock.resource_id: lock for lock in tx.scalars(everything().select(ResourceLock).where(*hides))}
    used = ShareInstance.share_id.in_({rule.share_id for rule in found})
    instances = {row.share_id: row for row in tx.scalars(everything().select(ShareInstance).where(used))}
    hang(found, "show_lock", locks)
    hang(found, "instance", instances, by="share_id")
    return found


def index(req: Request) -> dict[str, Any]:
    share_id = req.query.get("share_id")
    if not share_id:
        raise BadRequest("share_id is missing: the rules of one share are listed.")
    with req.service.db.read() as tx:
        try:
            share = req.get(tx, Share, share_id)
        except NotFound as error:
            raise BadRequest(error.message) from None
        req.authorize("share_access_rule:index", {"project_id": share.project_id, "user_id": share.user_id})
        page = RULES.page(tx, req, scope=everything(), where=conditions(tx, req, share.id))
        dress(tx, page.rows)
    return req.page("access_list", RuleView, page)


def access_list(req: Request, share: Share) -> dict[str, Any]:
    order = (AccessRule.created_at, AccessRule.id)
    with req.service.db.read() as tx:
        of_share = everything().select(AccessRule).where(AccessRule.share_id == share.id)
        found = dress(tx, list(tx.scalars(of_share.order_by(*order))))
    return {"access_list": req.views(RuleView, found)}


def show(req: Request, rule: AccessRule) -> dict[str, Any]:
    with req.service.db.read() as tx:
        dress(tx, [rule])
    return {"access": req.view(RuleDetail, rule)}


def allow(req: Request, share: Share) -> Any:
    asked = req.body
    targets.check(asked.access_type, asked.access_to, req.version)
    rule_id, operation_id = new_id(), new_id()

    def work(tx: Session) -> AccessRule:
        instance = _changeable(tx, req, share.id)
        if req.version < "2.28" and instance.access_rules_status == "error":
            raise BadRequest(f"Share {share.id} has rules in error: remove these before others are added.")
        rules.refuse_duplicate(tx, rules.SHARE, instance, asked.access_type, asked.access_to)
        rules.change(tx, rules.SHARE, instance.id)
        rule = AccessRule(
            id=rule_id,
            project_id=share.project_id,
            user_id=req.context.user_id,
            share_id=share.id,
            access_type=asked.access_type,
            access_to=asked.access_to,
            access_level=asked.access_level or "rw",
            meta=asked.metadata or {},
        )
        tx.add(rule)
        tx.flush()
        _lock(tx, req, rule)
        ask(tx, req, rules.SHARE, instance, id=operation_id)
        dress(tx, [rule])
        return rule

    return req.once(work, lambda rule: {"access": req.view(RuleDetail, rule)})


def _lock(tx: Session, req: Request, rule: AccessRule) -> None:
    """The locks that an allow asks for."""
    asked, wanted = req.body, []
    if asked.lock_visibility:
        wanted.append((placing.RULE, rule.id, "show", asked.lock_reason))
    if asked.lock_deletion:
        wanted.append((placing.RULE, rule.id, "delete", asked.lock_reason))
        reason = f"Access rule {rule.id} of this share is locked against deletion."
        wanted.append((placing.SHARE, rule.share_id, "delete", reason))
    try:
        for resource_type, id, action, why in wanted:
            placing.place(tx, req.context, resource_type, id, action=action, reason=why, rule_id=rule.id)
    except Conflict as error:
        raise BadRequest(error.message) from None


def deny(req: Request, share: Share) -> None:
    rule_id, operation_id = req.body.access_id, new_id()

    def work(tx: Session) -> None:
        instance = _changeable(tx, req, share.id)
        rule = _rule_of(tx, share.id, rule_id)
        _refuse_locked(tx, req, rule)
        rules.change(tx, rules.SHARE, instance.id)
        rules.deny(tx, rules.SHARE, instance, AccessRule.id == rule.id)
        ask(tx, req, rules.SHARE, instance, id=operation_id)

    req.service.db.write(work)


def _refuse_locked(tx: Session, req: Request, rule: AccessRule) -> None:
    """:raises Forbidden: the rule is locked, and the caller does not say that the locks may go, or has no say in it"""
    locks = placing.locks_of(tx, placing.RULE, rule.id, "delete")
    if locks and not req.body.unrestrict:
        raise Forbidden(f"Access rule {rule.id} is locked against deletion: unrestrict=true removes its locks.")
    if not all(placing.may_change(req.context, lock) for lock in locks):
        raise Forbidden(f"Access rule {rule.id} is locked against deletion by somebody else.")


def update(req: Request, rule: AccessRule) -> dict[str, Any]:
    level, operation_id = req.body.update_access.access_level, new_id()

    def work(tx: Session) -> AccessRule:
        instance = _changeable(tx, req, rule.share_id)
        fresh = _rule_of(tx, rule.share_id, rule.id)
        if fresh.denied:
            raise BadRequest(f"Access rule {rule.id} is being removed.")
        if fresh.access_level != level:
            rules.change(tx, rules.SHARE, instance.id)
            fresh = moves.touch(tx, AccessRule, rule.id, access_level=level, state="queued_to_update")
            ask(tx, req, rules.SHARE, instance, id=operation_id)
        dress(tx, [fresh])
        return fresh

    return {"access": req.view(RuleDetail, req.service.db.write(work))}


def _changeable(tx: Session, req: Request, share_id: str) -> ShareInstance:
    """The instance whose rules are about to change; the share is locked until the transaction ends.

    :raises ApiError: its rules cannot change now
    """
    share = moves.lock(tx, Share, share_id)
    if share.is_soft_deleted:
        raise Forbidden(f"Share {share.id} is in the recycle bin: its rules cannot change.")
    instance = active(tx, share_id)
    refused = TRANSITIONAL if req.version >= "2.74" else TRANSITIONAL | {"error"}
    if instance.host is None or instance.status in refused:
        raise BadRequest(f"Share {share.id} has status {instance.status}: its rules cannot change now.")
    return instance


def _rule_of(tx: Session, share_id: str, id: str) -> AccessRule:
    """A rule of a share as it is now."""
    mine = everything().select(AccessRule).where(AccessRule.id == id, AccessRule.share_id == share_id)
    rule = tx.scalars(mine.execution_options(populate_existing=True)).one_or_none()
    if rule is None:
        raise NotFound(f"Access rule {id} of share {share_id} could not be found.")
    return rule
