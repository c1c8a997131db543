"""Access rules of mountable snapshots over the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.kernel import moves
from pumice.kernel.db.base import new_id
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import BadRequest, NotFound
from pumice.share.access import rules, targets
from pumice.share.access.model import SnapshotAccessRule
from pumice.share.access.operations import ask
from pumice.share.access.shapes import SnapshotRuleView
from pumice.share.shares.model import Share
from pumice.share.snapshots.model import ShareSnapshot, SnapshotInstance
from pumice.share.snapshots.moving import instance_of

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


def index(req: Request, snapshot: ShareSnapshot) -> dict[str, Any]:
    with req.service.db.read() as tx:
        _refuse_unmountable(everything().get(tx, Share, snapshot.share_id))
        of_snapshot = everything().select(SnapshotAccessRule).where(SnapshotAccessRule.snapshot_id == snapshot.id)
        found = list(tx.scalars(of_snapshot.order_by(SnapshotAccessRule.created_at, SnapshotAccessRule.id)))
    return {"snapshot_access_list": req.views(SnapshotRuleView, found)}


def allow(req: Request, snapshot: ShareSnapshot) -> Any:
    asked = req.body
    targets.check(asked.access_type, asked.access_to, req.version)
    rule_id, operation_id = new_id(), new_id()

    def work(tx: Session) -> SnapshotAccessRule:
        instance = _changeable(tx, snapshot)
        rules.refuse_duplicate(tx, rules.SNAPSHOT, instance, asked.access_type, asked.access_to)
        rules.change(tx, rules.SNAPSHOT, instance.id)
        rule = SnapshotAccessRule(
            id=rule_id,
            project_id=snapshot.project_id,
            user_id=req.context.user_id,
            snapshot_id=snapshot.id,
            access_type=asked.access_type,
            access_to=asked.access_to,
        )
        tx.add(rule)
        tx.flush()
        ask(tx, req, rules.SNAPSHOT, instance, id=operation_id)
        return rule

    return req.once(work, lambda rule: {"snapshot_access": req.view(SnapshotRuleView, rule)})


def deny(req: Request, snapshot: ShareSnapshot) -> None:
    rule_id, operation_id = req.body.access_id, new_id()

    def work(tx: Session) -> None:
        instance = _changeable(tx, snapshot)
        rule = everything().find(tx, SnapshotAccessRule, rule_id)
        if rule is None:
            raise NotFound(f"Access rule {rule_id} could not be found.")
        if rule.snapshot_id != snapshot.id:
            raise BadRequest(f"Access rule {rule_id} is refused: it is not one of snapshot {snapshot.id}.")
        rules.change(tx, rules.SNAPSHOT, instance.id)
        rules.deny(tx, rules.SNAPSHOT, instance, SnapshotAccessRule.id == rule.id)
        ask(tx, req, rules.SNAPSHOT, instance, id=operation_id)

    req.service.db.write(work)


def _changeable(tx: Session, snapshot: ShareSnapshot) -> SnapshotInstance:
    """The instance whose rules are about to change; the snapshot's share is locked until the transaction ends.

    :raises BadRequest: its rules cannot change now, or never
    """
    share = moves.lock(tx, Share, snapshot.share_id)
    _refuse_unmountable(share)
    if share.snapshot_inherit_share_access_support:
        raise BadRequest(f"Snapshots of share {share.id} have the share's access rules, and none of their own.")
    instance = instance_of(tx, snapshot.id)
    if instance is None or instance.status not in ("available", "error", "awaiting_transfer"):
        status = instance.status if instance else "deleted"
        raise BadRequest(f"Snapshot {snapshot.id} has status {status}: its rules cannot change now.")
    return instance


def _refuse_unmountable(share: Share) -> None:
    if not share.mount_snapshot_support:
        raise BadRequest(f"Snapshots of share {share.id} cannot be mounted: its share type does not support that.")
