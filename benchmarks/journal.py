"""How many operations the journal carries through, and whether what it asks the database stays on indexes.

    python benchmarks/journal.py URL [--operations 8000] [--workers 4] [--old 100000]

URL is of an empty database (`mysql+pymysql://…`, `postgresql+psycopg2://…`, `sqlite:///…`). A row is written for each
operation, as a request does; then worker processes carry them out, whose step does nothing: each is one transaction to
claim and one to end. `--old` operations that have ended lie in the table all the time. Printed are operations a second,
the processors' time for each, and how the database finds what the sweeps and claims look for.
"""

from __future__ import annotations

import argparse
import datetime
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sqlalchemy import ColumnElement, func, insert, select, text
from sqlalchemy.orm import Session

from pumice.kernel.auth.context import RequestContext
from pumice.kernel.bus import LocalBus
from pumice.kernel.config import load
from pumice.kernel.db.base import Base, new_id, utcnow
from pumice.kernel.db.engine import Database
from pumice.kernel.messages import Messages
from pumice.kernel.metrics import Metrics
from pumice.kernel.notify import Notifier
from pumice.kernel.operations.journal import Journal, doorbell
from pumice.kernel.operations.kinds import Done, Kind
from pumice.kernel.operations.model import LIVE, Lane, Operation, State
from pumice.kernel.operations.worker import Worker

KIND = Kind(name="nothing", resource_type="NOTHING", steps={"run": lambda _run: Done()})
NOTHING = SimpleNamespace(id="-", project_id="p")
SUBMITTERS = 8
THREADS = 4
BATCH = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--operations", type=int, default=8000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--old", type=int, default=100_000)
    arguments = parser.parse_args()
    db = Database(arguments.url)
    Base.metadata.create_all(db.engine)
    db.write(lambda tx: fill(tx, arguments.old))
    run("accepted", arguments.operations, [(submit, (arguments.url, arguments.operations // SUBMITTERS))] * SUBMITTERS)
    explain(db)
    with db.read() as tx:
        ids = list(tx.scalars(select(Operation.id).where(Operation.state.in_(LIVE))))
    with tempfile.TemporaryDirectory() as directory:
        shares = [ids[first :: arguments.workers] for first in range(arguments.workers)]
        run("carried out", len(ids), [(work, (arguments.url, share, Path(directory))) for share in shares])
    with db.read() as tx:
        assert not tx.scalar(select(func.count()).where(Operation.state.in_(LIVE)))
    db.close()


def fill(tx: Session, number: int) -> None:
    now = utcnow()
    common = {"kind": KIND.name, "queue": "q", "state": State.SUCCEEDED, "resource_type": "NOTHING", "deadline": now}
    for _ in range(0, number, BATCH):
        rows = [{"id": new_id(), "resource_id": new_id(), "project_id": "p", **common} for _ in range(BATCH)]
        tx.execute(insert(Operation), rows)


def run(what: str, number: int, targets: Sequence[tuple[Callable[..., None], tuple[Any, ...]]]) -> None:
    """Have `number` operations dealt with by processes that each do one of `targets`."""
    began, used = time.monotonic(), os.times()
    children = [multiprocessing.Process(target=target, args=given) for target, given in targets]
    for child in children:
        child.start()
    for child in children:
        child.join()
        assert child.exitcode == 0
    seconds, now = time.monotonic() - began, os.times()
    cpu = now.children_user + now.children_system - used.children_user - used.children_system
    print(
        f"{what}: {number / seconds:.0f} operations/s with {len(targets)} processes, "
        f"{1000 * cpu / number:.2f} ms of their processor time each"
    )


def journal(db: Database) -> Journal:
    return Journal(db, LocalBus(), Notifier(db, load("block", ()), "benchmark"), [KIND], Messages("NOTHING"))


def submit(url: str, number: int) -> None:
    db = Database(url)
    accept = journal(db)
    context = RequestContext(user_id="u", project_id="p")
    for _ in range(number):
        id = new_id()

        def write(tx: Session, id: str = id) -> None:
            accept.submit(tx, KIND, context, NOTHING, id=id, queue="q")

        db.write(write)


def work(url: str, ids: Sequence[str], directory: Path) -> None:
    """Carry out what doorbells told this worker of, as a bus shares them out."""
    db = Database(url)
    lanes = {Lane.WORK: THREADS}
    worker = Worker(journal(db), {"q": None}, lanes=lanes, directory=directory, metrics=Metrics("b"), sweep=3600)
    worker.start()
    for id in ids:
        worker.journal.bus.ring(doorbell("q"), id)
    ended = 0
    while ended < len(ids):
        time.sleep(0.2)
        with db.read() as tx:
            ended = sum(
                tx.scalar(
                    select(func.count()).where(Operation.id.in_(ids[n : n + BATCH]), Operation.state == State.SUCCEEDED)
                )
                or 0
                for n in range(0, len(ids), BATCH)
            )
    worker.stop()


def explain(db: Database) -> None:
    now = utcnow()
    due = (Operation.not_before.is_(None)) | (Operation.not_before <= now)
    waiting = (Operation.queue.in_(["q"]), Operation.state.in_((State.QUEUED, State.WAITING)), due)
    late = now - datetime.timedelta(days=1)
    show(db, "the sweep's queued", *waiting)
    show(db, "the sweep's running", Operation.queue.in_(["q"]), Operation.state == State.RUNNING)
    show(db, "past their deadline", Operation.state.in_(LIVE), Operation.deadline <= late)
    show(db, "a claim", Operation.id == new_id(), *waiting)


def show(db: Database, what: str, *conditions: ColumnElement[bool]) -> None:
    statement = select(Operation.id).where(*conditions).limit(500)
    spelled = statement.compile(db.engine, compile_kwargs={"literal_binds": True})
    with db.read() as tx:
        kind = "EXPLAIN QUERY PLAN" if db.is_sqlite else "EXPLAIN"
        plan = tx.execute(text(f"{kind} {spelled}".replace(":", r"\:")))
        print(f"{what}: " + " / ".join(", ".join(str(value) for value in row if value is not None) for row in plan))


if __name__ == "__main__":
    main()
