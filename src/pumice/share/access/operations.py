"""Bringing a backend to the rules of a share, or of a snapshot: one operation for all changes that wait."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.kernel.db.scope import everything
from pumice.kernel.operations.kinds import Done, Kind, Outcome
from pumice.kernel.operations.model import Operation, State
from pumice.kernel.operations.worker import Run
from pumice.share.access import rules
from pumice.share.access.rules import RuleSet
from pumice.share.backends import ShareBackend, alone, queue_of, refused_as
from pumice.share.drivers.base import Rule
from pumice.share.message_codes import Action, Detail
from pumice.share.shares.model import ShareInstance

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

BOUND = 300.0
"""Seconds after which a change that no backend has taken up counts as failed."""


def _apply(of: RuleSet, run: Run) -> Outcome:
    with run.db.read() as tx:
        instance = everything().find(tx, of.instance, run.operation.resource_id)
    if instance is not None and instance.access_applied >= instance.access_wanted:
        # Somebody has, while this waited for its turn.
        return Done()
    run.check()
    backend: ShareBackend = run.environment
    with refused_as(Detail.UNKNOWN):
        record = rules.bring(run.db, backend.driver, of, run.operation.resource_id)

    def also(tx: Session) -> None:
        for rule in record(tx):
            run.journal.message(tx, run.operation, _detail(rule))

    return Done(also=also)


def _detail(rule: Rule) -> Detail:
    """Why a backend that works did not take a rule."""
    return Detail.CLIENT_REFUSED if rule.type == "cephx" else Detail.RULE_NOT_SUPPORTED


def _give_up(of: RuleSet, tx: Session, operation: Operation) -> None:
    rules.give_up(tx, of, operation.resource_id)


def _kind(of: RuleSet, resource_type: str) -> Kind:
    return Kind(
        name=of.operation,
        resource_type=resource_type,
        steps={"run": alone(functools.partial(_apply, of))},
        undo=functools.partial(_give_up, of),
        action=Action.UPDATE_ACCESS_RULES,
        subject=lambda operation: (resource_type, operation.args[of.parent]),
        seconds=BOUND,
    )


OF_SHARE = _kind(rules.SHARE, "SHARE")
OF_SNAPSHOT = _kind(rules.SNAPSHOT, "SHARE_SNAPSHOT")

KINDS = (OF_SHARE, OF_SNAPSHOT)


def ask(tx: Session, req: Request, of: RuleSet, instance: Any, *, id: str) -> None:
    """Within a change of rules: see that an operation will read them, one that waits already or a new one.

    One that runs may have read them before the change.

    :param id: of the new operation
    """
    kind = OF_SHARE if of is rules.SHARE else OF_SNAPSHOT
    of_instance = (Operation.resource_id == instance.id, Operation.kind == kind.name)
    waiting = everything().columns(Operation, Operation.id).where(*of_instance, Operation.state == State.QUEUED)
    operation_id = tx.scalar(waiting.limit(1))
    if operation_id is None:
        home = instance if of is rules.SHARE else everything().get(tx, ShareInstance, instance.share_instance_id)
        operation_id = req.service.journal.submit(
            tx,
            kind,
            req.context,
            instance,
            id=id,
            queue=queue_of(home.backend),
            args={of.parent: getattr(instance, of.parent), "instance_id": home.id},
        ).id
    req.reply_headers["X-Operation-Id"] = operation_id
