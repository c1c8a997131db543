"""The journal's rows."""

from __future__ import annotations

import datetime
import enum
from typing import Any, ClassVar

from sqlalchemy import Float, Index, Integer, String, Text, func, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from pumice.kernel.db.base import Base, Identified, Owned


class State(enum.StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    """for a signal, until `not_before`"""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    """superseded by a reset, a forced delete or an administrator"""


LIVE = (State.QUEUED, State.RUNNING, State.WAITING)


class Lane(enum.StrEnum):
    """Threads that long work cannot fill are kept for what a caller waits for."""

    WORK = "work"
    FAST = "fast"


class Operation(Owned, Base):
    """One accepted request, from its acceptance to its end. Never holds a token or a secret.

    `holds`, which is no column, is false where a claim has seen that the operation has no `Hold`: it never gets one.
    """

    __tablename__ = "operations"
    __label__: ClassVar[str] = "Operation"
    __table_args__ = (Index(None, "queue", "state"),)
    holds = True

    kind: Mapped[str] = mapped_column(String(64))
    queue: Mapped[str] = mapped_column(String(300))
    lane: Mapped[str] = mapped_column(String(8), default=Lane.WORK)
    state: Mapped[str] = mapped_column(String(16), default=State.QUEUED, index=True)
    step: Mapped[str] = mapped_column(String(64), default="run")
    resource_type: Mapped[str] = mapped_column(String(32))
    resource_id: Mapped[str] = mapped_column(String(36), index=True)
    request_id: Mapped[str | None] = mapped_column(String(64))
    shown: Mapped[bool] = mapped_column(default=True)
    args: Mapped[dict[str, Any]] = mapped_column(default=dict)
    checkpoint: Mapped[dict[str, Any]] = mapped_column(default=dict)
    progress: Mapped[float | None] = mapped_column(Float)
    owner: Mapped[str | None] = mapped_column(String(160), index=True)
    attempt: Mapped[int] = mapped_column(Integer, default=0)
    beat: Mapped[int] = mapped_column(Integer, default=0)
    fences: Mapped[int] = mapped_column(Integer, default=0)
    deadline: Mapped[datetime.datetime]
    not_before: Mapped[datetime.datetime | None]
    signal: Mapped[str | None] = mapped_column(String(64))
    error: Mapped[str | None] = mapped_column(Text)
    finished_at: Mapped[datetime.datetime | None]


class Hold(Identified, Base):
    """A resource that a live operation reads from (a clone's source): it must not go away meanwhile.

    Removed together with the operation's end.
    """

    __tablename__ = "holds"

    operation_id: Mapped[str] = mapped_column(String(36), index=True)
    resource_id: Mapped[str] = mapped_column(String(36), index=True)


def queue_depths(tx: Session) -> dict[str, int]:
    """How many operations wait in each queue."""
    waiting = select(Operation.queue, func.count()).where(Operation.state == State.QUEUED).group_by(Operation.queue)
    return dict(tx.execute(waiting).all())
