"""The rules of a share, or of a snapshot, as a set: changed in rows, brought to the backend as one.

A change of rows grows `access_wanted` of the instance in the same transaction and sees that an operation is under
way that will read them. Whoever brings the backend to the rules reads all of them, and then sets `access_applied` to
what `access_wanted` was at that moment; each rule gets its own result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, delete, exists, update
from sqlalchemy.orm import Session

from pumice.kernel import moves
from pumice.kernel.db.engine import Database, changed
from pumice.kernel.db.scope import everything
from pumice.kernel.drivers import ObjectMissing
from pumice.kernel.errors import BadRequest
from pumice.kernel.moves import Superseded
from pumice.kernel.operations.model import LIVE, Operation
from pumice.share.access.model import AccessRule, SnapshotAccessRule
from pumice.share.access.targets import same
from pumice.share.drivers.base import Applied, MountableSnapshots, Rule, ShareDriver, ShareRef, SnapshotRef
from pumice.share.locks.placing import drop_of_rules
from pumice.share.refs import share_ref, snapshot_ref
from pumice.share.shares.model import Share, ShareInstance
from pumice.share.snapshots.model import SnapshotInstance

UNDER_WAY = {"queued_to_apply": "applying", "queued_to_update": "updating", "queued_to_deny": "denying"}
"""What is waited for, and what it is called while the backend is at it."""
UNSETTLED = (*UNDER_WAY, *UNDER_WAY.values())
"""States in which no rule rests."""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Whose rules: those of share instances, or those of snapshot instances.

    :param parent: the column of the instance's and of the rule's rows that holds what they belong to
    :param operation: name of the kind of operation that brings a backend to the rules
    """

    instance: type[Any]
    rule: type[Any]
    parent: str
    operation: str

    def of(self, instance: Any) -> Any:
        """The condition of the rules of an instance."""
        return getattr(self.rule, self.parent) == getattr(instance, self.parent)


SHARE = RuleSet(ShareInstance, AccessRule, "share_id", "share.access")
SNAPSHOT = RuleSet(SnapshotInstance, SnapshotAccessRule, "snapshot_id", "snapshot.access")


@dataclass(frozen=True, slots=True)
class Pass:
    """One reading of the rules of an instance: what the backend is to be brought to.

    :ivar generation: `access_wanted` when they were read
    :ivar wanted: rules as the driver is to have them
    :ivar states: id → state of those
    :ivar denied: ids of the others, whose rows go with success
    """

    rules: RuleSet
    instance: Any
    generation: int
    wanted: Sequence[Rule]
    states: Mapping[str, str]
    denied: Collection[str]


def change(tx: Session, rules: RuleSet, instance_id: str) -> None:
    """Begin a change of an instance's rules: nobody else changes or reads them before the transaction ends."""
    values: dict[str, Any] = {"access_wanted": rules.instance.access_wanted + 1}
    if rules is SHARE:
        values["access_rules_status"] = "syncing"
    moves.touch(tx, rules.instance, instance_id, **values)


def refuse_duplicate(tx: Session, rules: RuleSet, instance: Any, access_type: str, access_to: str) -> None:
    """:raises BadRequest: there is a rule for the same target already, be it about to go"""
    of_type = (rules.of(instance), rules.rule.access_type == access_type)
    known = tx.scalars(everything().columns(rules.rule, rules.rule.access_to).where(*of_type))
    if any(same(access_type, access_to, one) for one in known):
        raise BadRequest(f"A rule for {access_type} {access_to} exists already.")


def deny(tx: Session, rules: RuleSet, instance: Any, *which: Any) -> None:
    """Want rules of an instance no more, within a `change`; those that meet the conditions `which`, or all."""
    statement = update(rules.rule).where(rules.of(instance), *which)
    tx.execute(statement.values(denied=True, state="queued_to_deny", version=rules.rule.version + 1))


def read(tx: Session, rules: RuleSet, instance_id: str) -> Pass:
    """Read all rules, and show of those that wait that the backend is at them.

    :raises Superseded: the instance is gone
    """
    instance = _locked(tx, rules, instance_id)
    if instance is None:
        raise Superseded(f"{rules.instance.__label__} {instance_id} is gone")
    for waiting, under_way in UNDER_WAY.items():
        queued = update(rules.rule).where(rules.of(instance), rules.rule.state == waiting)
        tx.execute(queued.values(state=under_way))
    rows = _rows(tx, rules, instance)
    read_only = rules is SNAPSHOT or instance.cast_rules_to_readonly
    wanted = [row for row in rows if not row.denied]
    return Pass(
        rules,
        instance,
        instance.access_wanted,
        [_rule(row, "ro" if read_only else row.access_level) for row in wanted],
        {row.id: row.state for row in wanted},
        [row.id for row in rows if row.denied],
    )


def _rows(tx: Session, rules: RuleSet, instance: Any) -> Sequence[Any]:
    of_instance = everything().select(rules.rule).where(rules.of(instance))
    return tx.scalars(of_instance.order_by(rules.rule.created_at, rules.rule.id)).all()


def _rule(row: Any, level: str) -> Rule:
    return Rule(row.id, row.access_type, row.access_to, level)


def record(tx: Session, done: Pass, results: Mapping[str, Applied]) -> list[Rule]:
    """Write how each rule fared; what was changed since `done` was read is left to the next pass.

    :returns: the rules that have failed and had not before
    """
    rules, failed = done.rules, []
    instance = _locked(tx, rules, done.instance.id)
    if instance is None or instance.access_applied > done.generation:
        # Gone, or somebody has read the rules after us and written how they fared before us.
        return []
    for rule in done.wanted:
        result = results.get(rule.id, Applied("the backend told nothing of this rule"))
        values: dict[str, Any] = {"state": "error" if result.error else "active"}
        if rules is SHARE and result.key is not None:
            values["access_key"] = result.key
        # Unless it was given up meanwhile, it must be as it was read: else it is another pass's to tell of.
        mine = update(rules.rule).where(rules.rule.id == rule.id, ~rules.rule.denied).values(values)
        before = done.states[rule.id]
        if changed(tx, mine.where(rules.rule.state == before)):
            if result.error and before != "error":
                failed.append(rule)
        else:
            # Another pass, or its end, has told of the failure already.
            changed(tx, mine.where(rules.rule.state == "error"))
    forget(tx, rules, rules.rule.id.in_(done.denied))
    _settle(tx, rules, instance, access_applied=done.generation)
    return failed


def give_up(tx: Session, rules: RuleSet, instance_id: str) -> None:
    """After a failure: no rule waits any longer, unless another operation will still see to them."""
    instance = _locked(tx, rules, instance_id)
    if instance is None or under_way(tx, rules, instance_id):
        return
    waiting = update(rules.rule).where(rules.of(instance), rules.rule.state.in_(UNSETTLED))
    tx.execute(waiting.values(state="error"))
    _settle(tx, rules, instance)


def forget(tx: Session, rules: RuleSet, *which: Any) -> None:
    """Remove rules that the backend has no more (or that go with their share), and the locks that live with them."""
    ids = list(tx.scalars(everything().columns(rules.rule, rules.rule.id).where(*which)))
    drop_of_rules(tx, ids)
    tx.execute(delete(rules.rule).where(rules.rule.id.in_(ids)))


def under_way(tx: Session, rules: RuleSet, instance_id: str) -> bool:
    """Whether an operation will bring the backend to the rules."""
    return bool(
        tx.scalar(everything().columns(Operation, Operation.id).where(*_operation(rules, instance_id)).limit(1))
    )


def behind(tx: Session, backend: str) -> set[str]:
    """Ids of the share instances of a backend whose rules, or a snapshot's, have changed or were not applied, and
    that no operation sees to."""
    here = ShareInstance.host.startswith(f"{backend}#", autoescape=True)
    shares = everything().columns(ShareInstance, ShareInstance.id).where(here, *_late(SHARE))
    snapshots = everything().columns(SnapshotInstance, SnapshotInstance.share_instance_id)
    snapshots = snapshots.where(ShareInstance.id == SnapshotInstance.share_instance_id, here, *_late(SNAPSHOT))
    return {*tx.scalars(shares), *tx.scalars(snapshots)}


def _late(rules: RuleSet) -> tuple[ColumnElement[bool], ...]:
    model = rules.instance
    return model.access_applied < model.access_wanted, ~exists().where(*_operation(rules, model.id))


def _operation(rules: RuleSet, instance_id: Any) -> tuple[ColumnElement[bool], ...]:
    of_kind = Operation.kind == rules.operation
    return Operation.resource_id == instance_id, of_kind, Operation.state.in_(LIVE)


def _locked(tx: Session, rules: RuleSet, instance_id: str) -> Any:
    """The instance, kept from changing until the transaction ends; None when it is gone."""
    model = rules.instance
    statement = everything().select(model).where(model.id == instance_id).with_for_update()
    return tx.scalars(statement.execution_options(populate_existing=True)).one_or_none()


def _settle(tx: Session, rules: RuleSet, instance: Any, **values: Any) -> None:
    """Show of an instance what its rules say."""
    if rules is SHARE:
        of_instance = everything().columns(AccessRule, AccessRule.state).where(rules.of(instance))
        states = set(tx.scalars(of_instance.distinct()))
        waits = states.intersection(UNSETTLED)
        values["access_rules_status"] = "syncing" if waits else "error" if "error" in states else "active"
    if values:
        tx.execute(update(rules.instance).where(rules.instance.id == instance.id).values(values))


def bring(db: Database, driver: ShareDriver, rules: RuleSet, instance_id: str) -> Callable[[Session], list[Rule]]:
    """Bring a backend to the rules as they are now, by whoever has the instance's lock. Those of a share are those of
    its heirs too: of its snapshots, where these inherit the share's.

    :returns: what records the results (`record`), for the transaction that ends this
    :raises Superseded: the instance is gone
    :raises BackendError: of the backend as a whole
    """
    done, ref, heirs = db.write(lambda tx: _read_with_refs(tx, rules, instance_id))
    if isinstance(ref, ShareRef):
        results = dict(driver.apply_access(ref, done.wanted))
        for heir in heirs:
            inherited = _inherit(driver, heir, done.wanted)
            results |= {id: applied for id, applied in inherited.items() if applied.error}
    else:
        assert isinstance(driver, MountableSnapshots)
        results = dict(driver.apply_snapshot_access(ref, done.wanted))
    return lambda tx: record(tx, done, results)


def bring_heir(db: Database, driver: ShareDriver, heir: SnapshotRef) -> None:
    """Bring a snapshot that is new to the rules of its share, by whoever has the share instance's lock.

    :raises BackendError:
    """
    with db.read() as tx:
        instance = everything().get(tx, ShareInstance, heir.share.id)
        wanted = [_rule(row, row.access_level) for row in _rows(tx, SHARE, instance) if not row.denied]
    _inherit(driver, heir, wanted)


def _inherit(driver: ShareDriver, heir: SnapshotRef, wanted: Sequence[Rule]) -> Mapping[str, Applied]:
    if not isinstance(driver, MountableSnapshots):
        return {}
    try:
        return driver.apply_snapshot_access(heir, [replace(rule, level="ro") for rule in wanted])
    except ObjectMissing:
        # Nobody can mount it: it is still to be made, or to be exported again. Who does so brings it to the rules.
        return {}


def _read_with_refs(
    tx: Session, rules: RuleSet, instance_id: str
) -> tuple[Pass, ShareRef | SnapshotRef, Sequence[SnapshotRef]]:
    done = read(tx, rules, instance_id)
    if rules is SNAPSHOT:
        return done, snapshot_ref(tx, done.instance), ()
    share = everything().get(tx, Share, done.instance.share_id)
    of_share = everything().select(SnapshotInstance).where(SnapshotInstance.share_instance_id == instance_id)
    heirs = tx.scalars(of_share.where(SnapshotInstance.status != "deleting")) if inherits(share) else ()
    return done, share_ref(tx, done.instance), [snapshot_ref(tx, heir) for heir in heirs]


def inherits(share: Share) -> bool:
    """Whether the snapshots of a share are mounted by those who may mount the share."""
    return share.mount_snapshot_support and share.snapshot_inherit_share_access_support
