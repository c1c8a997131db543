"""What must hold of the rows at any moment, and of rows and backend when nothing is under way.

Used by `pumice quota check`, and after every test that changes state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from sqlalchemy import and_, case, exists, func, literal, or_, select
from sqlalchemy.orm import Session

from pumice.kernel import quotas
from pumice.kernel.invariants import lines, orphans, unmoved
from pumice.kernel.operations.model import Operation
from pumice.kernel.scheduling import pool
from pumice.share.access import rules as access
from pumice.share.access.model import AccessRule, SnapshotAccessRule
from pumice.share.drivers.base import Inventory
from pumice.share.instances.exports import EXPORTED
from pumice.share.projection import DEFERRED
from pumice.share.quotas.resources import growth_charge, share_charge, snapshot_charge
from pumice.share.shares.model import Share, ShareInstance
from pumice.share.shares.moves import MOVING
from pumice.share.snapshots import moves as snapshot_moves
from pumice.share.snapshots.model import ShareSnapshot, SnapshotExportLocation, SnapshotInstance


def check(tx: Session) -> list[str]:
    """What is wrong in the rows, a line each: orphaned moves, projections, quotas, claims on pools."""
    return [
        *orphans(tx, (ShareInstance, SnapshotInstance)),
        *_projections(tx),
        *quotas.check(tx, _charges(tx)),
        *pool.check_claims(tx, _claims(tx)),
    ]


def _projections(tx: Session) -> list[str]:
    """Shares that do not show what their instance is, or have none."""
    pairs = select(Share.id, Share.status, ShareInstance.status).outerjoin(
        ShareInstance, ShareInstance.share_id == Share.id
    )
    apart = pairs.where(or_(ShareInstance.id.is_(None), ShareInstance.status != Share.status))
    return [
        f"Share {id} is {status} and its instance is {of_instance}" for id, status, of_instance in tx.execute(apart)
    ]


def stuck(tx: Session) -> list[str]:
    """Rows in a moving status without an operation, and rules that nobody brings to the backend."""
    waiting = [
        f"{model.__label__} {row.id} is {row.state} and nothing applies it"
        for model in (AccessRule, SnapshotAccessRule)
        for row in tx.execute(select(model.id, model.state).where(model.state.in_(access.UNSETTLED)))
    ]
    return [*unmoved(tx, ((ShareInstance, MOVING), (SnapshotInstance, snapshot_moves.MOVING))), *waiting]


def _charges(tx: Session) -> Iterator[tuple[str, dict[str, int]]]:
    """What the rows consume of their projects' quotas, growth in flight included."""
    for share in tx.scalars(select(Share).where(Share.status.not_in(DEFERRED))):
        yield share.project_id, share_charge(share.size, share.share_type_id, share.user_id)
        yield share.project_id, growth_charge(share.growing_gb, share.share_type_id, share.user_id)
    for snapshot in tx.scalars(select(ShareSnapshot).where(ShareSnapshot.status.not_in(DEFERRED))):
        yield snapshot.project_id, snapshot_charge(snapshot.size, snapshot.share_type_id, snapshot.user_id)


def _claims(tx: Session) -> Iterator[tuple[str, int]]:
    """Pools, and GiB of what is placed on them, growth that is claimed included."""
    placed = select(ShareInstance.host, func.sum(Share.size)).join(Share, Share.id == ShareInstance.share_id)
    for host, size in tx.execute(placed.where(ShareInstance.host.is_not(None)).group_by(ShareInstance.host)):
        yield str(host), int(size)
    growing = (
        select(ShareInstance.host, Operation.checkpoint)
        .join(Operation, Operation.id == ShareInstance.operation_id)
        .join(Share, Share.id == ShareInstance.share_id)
    )
    for host, checkpoint in tx.execute(growing.where(Share.growing_gb > 0)):
        yield str(host), checkpoint.get("claimed", 0)


def compare(tx: Session, backend: str, held: Inventory) -> list[str]:
    """What a backend holds without a row, what rows in a good status miss on it, and whether its file servers
    enforce the rules of the rows; only when all is quiet."""
    here = ShareInstance.host.startswith(f"{backend}#", autoescape=True)
    shares = {row.id: row.status for row in tx.execute(select(ShareInstance.id, ShareInstance.status).where(here))}
    of_backend = select(SnapshotInstance.id, SnapshotInstance.status).join(
        ShareInstance, and_(ShareInstance.id == SnapshotInstance.share_instance_id, here)
    )
    snapshots = {row.id: row.status for row in tx.execute(of_backend)}
    good = {id for id, status in shares.items() if status in EXPORTED}
    whole = {id for id, status in snapshots.items() if status in ("available", "restoring")}
    wanted = _rules(tx, good, whole)
    return [
        *lines("share", "is on the backend and has no row", held.shares - shares.keys()),
        *lines("share", "has a row and is not on the backend", good - held.shares),
        *lines("snapshot", "is on the backend and has no row", held.snapshots - snapshots.keys()),
        *lines("snapshot", "has a row and is not on the backend", whole - held.snapshots),
        *lines("export", "is made and no row wants it", held.exports.keys() - shares.keys() - snapshots.keys()),
        *lines("export", "is wanted by a row and not made", wanted.keys() - held.exports.keys()),
        *_unlike(wanted, held.exports),
        *lines("file", "is left over", held.leftovers),
    ]


def _rules(tx: Session, shares: Collection[str], snapshots: Collection[str]) -> dict[str, set[str]]:
    """Instance of a share or of a mountable snapshot → the rules that its server should enforce.

    A snapshot that inherits its share's has none of its own.
    """
    rule, own = AccessRule, SnapshotAccessRule
    level = case((ShareInstance.cast_rules_to_readonly, "ro"), else_=rule.access_level)
    of_shares = (
        select(ShareInstance.id, rule.access_type, rule.access_to, level)
        .outerjoin(rule, and_(rule.share_id == ShareInstance.share_id, rule.state == "active"))
        .where(ShareInstance.id.in_(shares))
    )
    located = exists().where(SnapshotExportLocation.snapshot_instance_id == SnapshotInstance.id)
    mountable = (SnapshotInstance.id.in_(snapshots), located)
    of_snapshots = (
        select(SnapshotInstance.id, own.access_type, own.access_to, literal("ro"))
        .outerjoin(own, and_(own.snapshot_id == SnapshotInstance.snapshot_id, own.state == "active"))
        .where(*mountable)
    )
    inherited = (
        select(SnapshotInstance.id, rule.access_type, rule.access_to, literal("ro"))
        .join(rule, and_(rule.share_id == SnapshotInstance.share_id, rule.state == "active"))
        .join(Share, and_(Share.id == rule.share_id, Share.snapshot_inherit_share_access_support))
        .where(*mountable)
    )
    wanted: dict[str, set[str]] = {}
    for query in (of_shares, of_snapshots, inherited):
        for id, *words in tx.execute(query):
            wanted.setdefault(id, set()).update([" ".join(words)] if words[0] else [])
    return wanted


def _unlike(wanted: Mapping[str, set[str]], held: Mapping[str, frozenset[str]]) -> list[str]:
    """Where a server enforces other rules than it should."""
    found = []
    for id in sorted(wanted):
        enforced = held.get(id, frozenset())
        found += lines(f"export {id}: rule", "is enforced and no row wants it", enforced - wanted[id])
        found += lines(f"export {id}: rule", "is active and not enforced", wanted[id] - enforced)
    return found
