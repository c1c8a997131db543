"""Things whose instances move: users know the share, or the snapshot, and it shows what its instance is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from pumice.kernel.db.base import Moving, Versioned, utcnow
from pumice.kernel.db.scope import everything
from pumice.kernel.moves import Move
from pumice.kernel.operations.kinds import Kind
from pumice.kernel.operations.model import Operation

R = TypeVar("R", bound=Moving)


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection(Generic[R]):
    """:param parent: class of what users know
    :param instance: class of what moves; its column `key` names the parent, as the operations' argument `key` does
    :param shown: columns that the parent shows of its instance
    :param name: the first part of the names of kinds of operations
    :param resource_type: as messages name the parent
    """

    parent: type[Versioned]
    instance: type[R]
    key: str
    shown: tuple[str, ...]
    name: str
    resource_type: str

    def active(self, tx: Session, id: str) -> R | None:
        """The instance that clients use, the oldest; None where there is none."""
        model = self.instance
        of_parent = everything().select(model).where(getattr(model, self.key) == id)
        statement = of_parent.order_by(model.created_at, model.id).limit(1)
        return tx.scalars(statement.execution_options(populate_existing=True)).one_or_none()

    def project(self, tx: Session, id: str) -> None:
        """Let the parent show what its instance is; without any, it is gone."""
        parent, instance = self.parent, self.active(tx, id)
        if instance is None:
            tx.execute(delete(parent).where(parent.id == id))
            return
        values = {name: getattr(instance, name) for name in self.shown}
        values |= {"version": parent.version + 1, "updated_at": utcnow()}
        statement = update(parent).where(parent.id == id).values(values)
        tx.execute(statement.execution_options(synchronize_session=False))

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
