"""Things whose instances move: users know the share, or the snapshot, and it shows what its instance is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from pumice.kernel.db.base import Moving, utcnow
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import NotFound
from pumice.kernel.moves import Move
from pumice.kernel.operations.kinds import Kind
from pumice.kernel.operations.model import Operation
from pumice.kernel.quotas import adjust

DEFERRED = ("deferred_deleting", "error_deferred_deleting")
"""Statuses of what is deleted and gone for its users: they neither see it nor does it count in their quotas."""
R = TypeVar("R", bound=Moving)


def deferred(deletion: Move) -> Move:
    """A deletion that its users do not wait for."""
    under_way, failed = DEFERRED
    assert deletion.start is not None
    return replace(deletion, start=deletion.start | {failed}, via=under_way, failed=failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection(Generic[R]):
    """:param parent: class of what users know
    :param instance: class of what moves; its column `key` names the parent, as the operations' argument `key` does
    :param shown: columns that the parent shows of its instance
    :param name: the first part of the names of kinds of operations
    :param resource_type: as messages name the parent
    :param charge: what a parent takes of its project's quotas, unless its deletion is deferred
    """

    parent: type[Any]
    instance: type[R]
    key: str
    shown: tuple[str, ...]
    name: str
    resource_type: str
    charge: Callable[[Any], Mapping[str, int]]

    def active(self, tx: Session, id: str) -> R | None:
        """The instance that clients use, the oldest; None where there is none."""
        model = self.instance
        of_parent = everything().select(model).where(getattr(model, self.key) == id)
        statement = of_parent.order_by(model.created_at, model.id).limit(1)
        return tx.scalars(statement.execution_options(populate_existing=True)).one_or_none()

    def present(self, tx: Session, id: str) -> R:
        """`active` of a parent that may have gone since it was read.

        :raises NotFound: it has
        """
        instance = self.active(tx, id)
        if instance is None:
            raise NotFound(f"{self.parent.__label__} {id} could not be found.")
        return instance

    def project(self, tx: Session, id: str) -> None:
        """Let the parent show what its instance is; without any, it is gone."""
        parent, instance = self.parent, self.active(tx, id)
        if instance is None:
            tx.execute(delete(parent).where(parent.id == id))
            return
        self._count(tx, id, instance.status)
        values = {name: getattr(instance, name) for name in self.shown}
        values |= {"version": parent.version + 1, "updated_at": utcnow()}
        statement = update(parent).where(parent.id == id).values(values)
        tx.execute(statement.execution_options(synchronize_session=False))

    def _count(self, tx: Session, id: str, status: str) -> None:
        """What is about to be deferred, or is taken back from that, counts no more, or again."""
        before = tx.scalar(everything().columns(self.parent, self.parent.status).where(self.parent.id == id))
        now, then = status in DEFERRED, before in DEFERRED
        if now != then:
            parent = everything().get(tx, self.parent, id)
            sign = -1 if now else 1
            adjust(tx, parent.project_id, {key: sign * amount for key, amount in self.charge(parent).items()})

    def follow(self, tx: Session, operation: Operation) -> None:
        """`Kind.after`: the parent shows how its instance's move has ended."""
        self.project(tx, operation.args[self.key])

    def kind(self, name: str, move: Move, **more: Any) -> Kind:
        """A kind of operation that moves an instance; its arguments name the parent."""
        return Kind(
            name=f"{self.name}.{name}",
            resource_type=self.resource_type,
            model=self.instance,
            move=move,
            after=self.follow,
            subject=lambda operation: (self.resource_type, operation.args[self.key]),
            **more,
        )
