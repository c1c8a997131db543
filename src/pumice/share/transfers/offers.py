"""Offers of shares: made, withdrawn, expired and accepted. A share that is offered can do nothing else."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, exists, update
from sqlalchemy.orm import Session

from pumice.kernel import moves
from pumice.kernel.db.base import new_id, utcnow
from pumice.kernel.db.engine import Database
from pumice.kernel.db.scope import everything, own
from pumice.kernel.errors import BadRequest
from pumice.kernel.moves import Move
from pumice.kernel.quotas import refund
from pumice.share.access import rules
from pumice.share.access.model import AccessRule, SnapshotAccessRule
from pumice.share.access.operations import ask
from pumice.share.locks.model import ResourceLock
from pumice.share.quotas.resources import share_charge, size_bounds, snapshot_charge
from pumice.share.shares.model import ExportLocation, Share, ShareInstance
from pumice.share.shares.moving import active, project
from pumice.share.shares.notifications import describe
from pumice.share.shares.rules import refuse_busy, refuse_recycled
from pumice.share.snapshots.model import ShareSnapshot, SnapshotExportLocation, SnapshotInstance
from pumice.share.transfers.model import ShareTransfer
from pumice.share.types.model import ShareType

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

OFFERED = "awaiting_transfer"
OFFER = Move(name="transfer", start=frozenset({"available"}), via=None, done=OFFERED, failed="available")
END = Move(name="the end of a transfer", start=frozenset({OFFERED}), via=None, done="available", failed=OFFERED)


def hash_of(salt: str, key: str) -> str:
    """What is kept of a key. Keys are random and live for minutes: a fast hash will do."""
    return hmac.new(salt.encode(), key.encode(), hashlib.sha256).hexdigest()


def offer(tx: Session, req: Request, share_id: str, *, id: str, key: str) -> ShareTransfer:
    """:raises BadRequest: the share cannot be transferred now, or never"""
    share = moves.lock(tx, Share, share_id)
    refuse_recycled(share)
    refuse_busy(share)
    if share.replication_type is not None:
        raise BadRequest(f"Share {share.id} has replicas: it cannot be transferred.")
    if share.share_group_id is not None:
        raise BadRequest(f"Share {share.id} is in a share group: it cannot be transferred.")
    if share.project_id in (share.mount_point_name or ""):
        raise BadRequest(f"Share {share.id} has its project's id in its mount point name: it cannot be transferred.")
    _move(tx, share, OFFER)
    conf = req.service.conf
    salt = secrets.token_hex(conf.share_transfer_salt_length)[: conf.share_transfer_salt_length]
    transfer = ShareTransfer(
        id=id,
        project_id=share.project_id,
        user_id=req.context.user_id,
        share_id=share.id,
        name=req.body.transfer.name,
        salt=salt,
        key_hash=hash_of(salt, key),
        expires_at=utcnow() + datetime.timedelta(seconds=conf.transfer_retention_time),
    )
    tx.add(transfer)
    _notify(tx, req, "create", share)
    return transfer


def withdraw(tx: Session, req: Request, id: str) -> None:
    """:raises BadRequest: the share is not offered any more"""
    transfer, share = _standing(tx, id)
    _move(tx, share, END)
    tx.delete(transfer)
    _notify(tx, req, "delete", share)


def _standing(tx: Session, id: str) -> tuple[ShareTransfer, Share]:
    """An offer and its share, which is locked.

    :raises BadRequest: the offer is gone
    """
    offered = everything().columns(ShareTransfer, ShareTransfer.share_id).where(ShareTransfer.id == id)
    share_id = tx.scalar(offered)
    share = moves.lock(tx, Share, share_id) if share_id else None
    # Whoever had the share's lock before us may have ended the offer.
    transfer = everything().find(tx, ShareTransfer, id)
    if share is None or transfer is None:
        raise BadRequest(f"Transfer {id} could not be found.")
    return transfer, share


def expire(db: Database) -> None:
    """End offers that nobody accepted in time. Anybody may do so at any time."""
    with db.read() as tx:
        late = everything().columns(ShareTransfer, ShareTransfer.id).where(ShareTransfer.expires_at <= utcnow())
        ids = list(tx.scalars(late))
    for id in ids:
        db.write(partial(_expire, id=id))


def _expire(tx: Session, id: str) -> None:
    try:
        transfer, share = _standing(tx, id)
    except BadRequest:
        return
    if share.status == OFFERED:
        _move(tx, share, END)
    tx.delete(transfer)


def accept(tx: Session, req: Request, id: str) -> None:
    """Give a share, its snapshots and all that hangs on them to the caller's project.

    :raises BadRequest: the key is wrong, or the offer does not stand any more
    :raises OverLimit: the caller's quota has no room for it
    """
    transfer, share = _standing(tx, id)
    if transfer.expires_at <= utcnow():
        raise BadRequest(f"Transfer {id} has expired.")
    if not hmac.compare_digest(transfer.key_hash, hash_of(transfer.salt, req.body.accept.auth_key)):
        raise BadRequest(f"auth_key is refused: it is not that of transfer {id}.")
    project_id = req.context.project_id or ""
    if share.share_type_id and own(project_id).find(tx, ShareType, share.share_type_id) is None:
        raise BadRequest(f"Transfer {id} is refused: the share's type is private, and not this project's to use.")
    snapshots = _snapshots(tx, share)
    _charge(tx, req, share, snapshots)
    _move(tx, share, END)
    _drop_locks(tx, share)
    _hand_over(tx, share, snapshots, {"project_id": project_id, "user_id": req.context.user_id})
    tx.delete(transfer)
    tx.flush()
    tx.refresh(share)
    if req.body.accept.clear_access_rules:
        _clear(tx, req, share)
    _notify(tx, req, "accept", share)


def _snapshots(tx: Session, share: Share) -> Sequence[ShareSnapshot]:
    return tx.scalars(everything().select(ShareSnapshot).where(ShareSnapshot.share_id == share.id)).all()


def _move(tx: Session, share: Share, move: Move) -> None:
    """Begin and end a move of a share, which is locked, and of its snapshots: of all, or of those that are offered.

    :raises BadRequest: the status of one of them refuses
    """
    moves.begin(tx, ShareInstance, active(tx, share.id).id, move, operation_id=None)
    of_share, shown = [SnapshotInstance.share_id == share.id], [ShareSnapshot.share_id == share.id]
    if move is END:
        of_share.append(SnapshotInstance.status == OFFERED)
        shown.append(ShareSnapshot.status == OFFERED)
    for id in tx.scalars(everything().columns(SnapshotInstance, SnapshotInstance.id).where(*of_share)).all():
        moves.begin(tx, SnapshotInstance, id, move, operation_id=None)
    tx.execute(update(ShareSnapshot).where(*shown).values(status=move.done))
    project(tx, share.id)
    tx.refresh(share)


def _charge(tx: Session, req: Request, share: Share, snapshots: Sequence[ShareSnapshot]) -> None:
    """Move what the share and its snapshots count for from its owners to the caller."""
    quotas, user_id, project_id = req.service.quotas, req.context.user_id, req.context.project_id or ""
    type_id = share.share_type_id
    quotas.check_size(tx, project_id, size_bounds(type_id, user_id), share.size)
    refund(tx, share.project_id, share_charge(share.size, type_id, share.user_id))
    wanted = share_charge(share.size, type_id, user_id)
    for snapshot in snapshots:
        refund(tx, snapshot.project_id, snapshot_charge(snapshot.size, snapshot.share_type_id, snapshot.user_id))
        for key, delta in snapshot_charge(snapshot.size, snapshot.share_type_id, user_id).items():
            wanted[key] = wanted.get(key, 0) + delta
    quotas.charge(tx, project_id, wanted)


def _drop_locks(tx: Session, share: Share) -> None:
    """The locks of the users who give the share away go: nobody could remove them any more."""
    of_share = everything().columns(AccessRule, AccessRule.id).where(AccessRule.share_id == share.id)
    on = ResourceLock.resource_id.in_([share.id, *tx.scalars(of_share)])
    users = (ResourceLock.lock_context == "user", ResourceLock.project_id == share.project_id)
    tx.execute(delete(ResourceLock).where(on, *users))


def _clear(tx: Session, req: Request, share: Share) -> None:
    """Cut off everybody who may mount the share or one of its snapshots."""
    mounted = exists().where(SnapshotAccessRule.snapshot_id == SnapshotInstance.snapshot_id)
    of_share = everything().select(SnapshotInstance).where(SnapshotInstance.share_id == share.id, mounted)
    sets: list[tuple[rules.RuleSet, Any]] = [(rules.SHARE, active(tx, share.id))]
    sets += [(rules.SNAPSHOT, one) for one in tx.scalars(of_share.execution_options(populate_existing=True)).all()]
    for of, instance in sets:
        rules.change(tx, of, instance.id)
        rules.deny(tx, of, instance)
        ask(tx, req, of, instance, id=new_id())


def _hand_over(tx: Session, share: Share, snapshots: Sequence[ShareSnapshot], owner: dict[str, Any]) -> None:
    ids = [snapshot.id for snapshot in snapshots]
    tx.execute(update(Share).where(Share.id == share.id).values(owner))
    for model in (ShareInstance, ExportLocation, AccessRule, ShareSnapshot, SnapshotInstance):
        tx.execute(update(model).where(model.share_id == share.id).values(owner))
    for child in (SnapshotExportLocation, SnapshotAccessRule):
        tx.execute(update(child).where(child.snapshot_id.in_(ids)).values(owner))


def _notify(tx: Session, req: Request, what: str, share: Share) -> None:
    notifier = req.service.notifier
    if notifier.enabled:
        payload = describe(tx, active(tx, share.id))
        for phase in ("start", "end"):
            notifier.emit(tx, req.context.request_id, f"share.transfer.{what}.{phase}", payload)
