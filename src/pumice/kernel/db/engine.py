"""One service's database: sessions for reading, and whole transactions that are run again when they must be.

READ COMMITTED on MariaDB and PostgreSQL; on SQLite WAL with `BEGIN IMMEDIATE` behind one writer lock, so that a
transaction that will write never finds half-way that it has to give up its snapshot.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar, cast

from oslo_db import exception as db_errors
from oslo_db.sqlalchemy import exc_filters
from sqlalchemy import Connection, CursorResult, Engine, UpdateBase, create_engine, event, make_url
from sqlalchemy.orm import Session

T = TypeVar("T")

RETRIED: tuple[type[Exception], ...] = (db_errors.DBDeadlock, db_errors.DBConnectionError, db_errors.RetryRequest)
ATTEMPTS = 12


class TryAgain(db_errors.RetryRequest):  # type: ignore[misc]
    """Raised inside `Database.write` work to have the whole transaction run again."""

    def __init__(self) -> None:
        super().__init__(None)


class Database:
    """:param url: a SQLAlchemy URL; `sqlite:////path`, `mysql+pymysql://…`, `postgresql+psycopg2://…`"""

    def __init__(self, url: str, *, pool_size: int = 20, max_overflow: int = 40) -> None:
        self.url = make_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        # Parameters hold secrets (passwords of exports), which errors would carry into logs and answers.
        options: dict[str, Any] = {"pool_size": pool_size, "max_overflow": max_overflow, "hide_parameters": True}
        if self.is_sqlite:
            options["connect_args"] = {"check_same_thread": False, "timeout": 30}
        else:
            options |= {"isolation_level": "READ COMMITTED", "pool_pre_ping": True, "pool_recycle": 3600}
        self.engine = create_engine(self.url, **options)
        exc_filters.register_engine(self.engine)
        self._writer: AbstractContextManager[object] = threading.Lock() if self.is_sqlite else nullcontext()
        if self.is_sqlite:
            _prepare_sqlite(self.engine)

    @contextmanager
    def read(self, *, snapshot: bool = False) -> Iterator[Session]:
        """A session for reading; nothing done in it is kept.

        :param snapshot: have all its queries see the same state of the database, as they always do on SQLite
        """
        with Session(self.engine, expire_on_commit=False, autoflush=False) as tx:
            if snapshot and not self.is_sqlite:
                tx.connection(execution_options={"isolation_level": "REPEATABLE READ"})
            yield tx

    def write(self, work: Callable[[Session], T]) -> T:
        """Run `work(tx)` in one transaction and commit it; what it raises rolls everything back.

        The whole of `work` is run again after a deadlock, a failed certification or a lost connection, so it
        makes its ids beforehand and does nothing outside the database (see `after_commit`).
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._write_once(work)
            except RETRIED:
                if attempt == ATTEMPTS:
                    raise
                # Full jitter: two transactions that collided must not meet again.
                time.sleep(random.uniform(0, min(1.0, 0.005 * 2**attempt)))  # noqa: S311
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _write_once(self, work: Callable[[Session], T]) -> T:
        # The lock is held until a transaction that fails has been rolled back, too.
        with self._writer, Session(self.engine, expire_on_commit=False) as tx:
            if self.is_sqlite:
                tx.connection(execution_options={"pumice_write": True})
            result = work(tx)
            tx.commit()
            callbacks: list[Callable[[], None]] = tx.info.get("after_commit", [])
        for callback in callbacks:
            callback()
        return result

    def close(self) -> None:
        self.engine.dispose()


def after_commit(tx: Session, callback: Callable[[], None]) -> None:
    """Have `callback` called once when the transaction of `tx` has been committed (doorbells, caches)."""
    tx.info.setdefault("after_commit", []).append(callback)


def changed(tx: Session, statement: UpdateBase) -> int:
    """Execute an UPDATE, DELETE or INSERT and return how many rows it matched."""
    result = tx.execute(statement, execution_options={"synchronize_session": False})
    return cast("CursorResult[Any]", result).rowcount


def _prepare_sqlite(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def connect(connection: Any, _record: Any) -> None:
        # Transactions are begun by us: the driver would begin them too late, with a plain BEGIN.
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("pumice_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
