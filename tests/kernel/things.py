"""A resource to try the kernel on: things that are made, painted and removed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from sqlalchemy.orm import Mapped, mapped_column

from pumice.kernel.auth.context import RequestContext
from pumice.kernel.bus import LocalBus
from pumice.kernel.config import load
from pumice.kernel.db.base import Base, Moving, new_id
from pumice.kernel.db.engine import Database
from pumice.kernel.messages import Messages
from pumice.kernel.moves import End, Move
from pumice.kernel.notify import Notifier
from pumice.kernel.operations.journal import Journal
from pumice.kernel.operations.kinds import Done, Kind, Step, Undo, nothing
from pumice.kernel.operations.model import Operation
from tests.support.databases import url_of

PROJECT = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
CONTEXT = RequestContext(user_id="u", project_id=PROJECT, request_id="req-1")
NOTHING = SimpleNamespace(id="-", project_id="-")
"""What operations are about that have no resource."""

PAINT = Move(name="paint", start=frozenset({"plain"}), via="painting", done="painted", failed="error")
REMOVE = Move(name="remove", start=frozenset({"plain", "painted"}), via="removing", done=End.GONE, failed="error")
FORCE = Move(name="force", start=None, via="removing", done=End.GONE, failed="error")


class Thing(Moving, Base):
    __tablename__ = "things"
    __label__: ClassVar[str] = "Thing"

    colour: Mapped[str | None]
    parts: Mapped[int] = mapped_column(default=0)


def database(path: Path) -> Database:
    db = Database(url_of(path / "things.sqlite"))
    Base.metadata.create_all(db.engine)
    return db


def add_thing(db: Database, **values: Any) -> str:
    id = new_id()
    thing = Thing(**({"id": id, "project_id": PROJECT, "status": "plain"} | values))

    def work(tx: Any) -> None:
        tx.add(thing)

    db.write(work)
    return id


def thing_of(db: Database, id: str) -> Thing | None:
    with db.read() as tx:
        return tx.get(Thing, id)


def operation_of(db: Database, id: str) -> Operation:
    with db.read() as tx:
        return tx.get_one(Operation, id)


def paint_kind(step: Step | None = None, undo: Undo = nothing, **more: Any) -> Kind:
    steps = more.pop("steps", None) or {"run": step or (lambda run: Done({"colour": run.args["colour"]}))}
    return Kind(name="thing.paint", resource_type="THING", model=Thing, move=PAINT, steps=steps, undo=undo, **more)


def journal_of(db: Database, *kinds: Kind) -> Journal:
    """A journal with the given kinds, on a bus of its own. Close `journal.bus` afterwards."""
    conf = load("block", (), {"DEFAULT": {"host": "here"}})
    return Journal(db, LocalBus(), Notifier(db, conf, "test"), kinds, Messages("THING"))


def paint(journal: Journal, thing: str, colour: str = "red", kind: str = "thing.paint", **more: Any) -> str:
    """Begin to paint a thing; the operation's id."""
    operation = new_id()
    journal.db.write(
        lambda tx: journal.begin(
            tx,
            journal.kinds[kind],
            CONTEXT,
            id=operation,
            queue="q",
            resource_id=thing,
            args={"colour": colour},
            **more,
        )
    )
    return operation


Writing = Callable[[Any], Any]
