"""One service's database: sessions for reading, and whole transactions that are run again when they must be.

READ COMMITTED on MariaDB and PostgreSQL; on SQLite WAL with `BEGIN IMMEDIATE` behind one writer lock, so that a
transaction that will write never finds half-way that it has to give up its snapshot.
"""

from __future__ import annotations

import random
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar, cast

import msgspec
from oslo_db import exception as db_errors
from oslo_db.sqlalchemy import exc_filters
from sqlalchemy import Connection, CursorResult, Engine, UpdateBase, create_engine, event, make_url
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.orm import Session

T = TypeVar("T")

RETRIED: tuple[type[Exception], ...] = (db_errors.DBDeadlock, db_errors.DBConnectionError, db_errors.RetryRequest)
ATTEMPTS = 12
PING_AFTER = 30.0
"""Seconds for which a connection may rest unused before it is tried with a ping."""


class TryAgain(db_errors.RetryRequest):  # type: ignore[misc]
    """Raised inside `Database.write` work to have the whole transaction run again."""

    def __init__(self) -> None:
        super().__init__(None)


class Database:
    """:param url: a SQLAlchemy URL; `sqlite:////path`, `mysql+pymysql://…`, `postgresql+psycopg2://…`

    On a server, queries outside of transactions have connections of their own, in autocommit: the begin and the end of
    a transaction would each be a trip to the server.
    """

    def __init__(self, url: str, *, pool_size: int = 10, max_overflow: int = 50) -> None:
        self.url = make_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._writer: AbstractContextManager[object] = threading.Lock() if self.is_sqlite else nullcontext()
        sizes = {"pool_size": pool_size, "max_overflow": max_overflow}
        if self.is_sqlite:
            self.engine = self._engine(**sizes, connect_args={"check_same_thread": False, "timeout": 30})
            self._reading = self.engine
            _prepare_sqlite(self.engine)
        else:
            self.engine = self._engine(**sizes, isolation_level="READ COMMITTED", pool_reset_on_return=None)
            self._reading = self._engine(**sizes, isolation_level="AUTOCOMMIT", skip_autocommit_rollback=True)
            _reset_what_was_begun(self.engine)
            for engine in (self.engine, self._reading):
                _leave_out_the_dead(engine)

    def _engine(self, **options: Any) -> Engine:
        engine = create_engine(
            self.url,
            # Parameters hold secrets (passwords of exports), which errors would carry into logs and answers.
            hide_parameters=True,
            json_serializer=lambda value: msgspec.json.encode(value).decode(),
            json_deserializer=msgspec.json.decode,
            **options,
        )
        exc_filters.register_engine(engine)
        return engine

    @contextmanager
    def read(self, *, snapshot: bool = False) -> Iterator[Session]:
        """A session for reading; nothing done in it is kept.

        :param snapshot: have all its queries see the same state of the database, as they always do on SQLite
        """
        engine = self.engine if snapshot else self._reading
        with Session(engine, expire_on_commit=False, autoflush=False) as tx:
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
        for engine in {self.engine, self._reading}:
            engine.dispose()


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


def _reset_what_was_begun(engine: Engine) -> None:
    """Roll back what returns to the pool in the middle of a transaction, and nothing else: not what has just ended."""

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.info["begun"] = True

    @event.listens_for(engine, "commit")
    @event.listens_for(engine, "rollback")
    def end(connection: Connection) -> None:
        if not connection.invalidated:  # else it is lost, and its `info` with it
            connection.info.pop("begun", None)

    @event.listens_for(engine, "reset")
    def reset(dbapi_connection: Any, record: Any, _state: Any) -> None:
        if record.info.pop("begun", False):
            dbapi_connection.rollback()


def _leave_out_the_dead(engine: Engine) -> None:
    """Look at a connection before it is used, instead of a ping, which would be a trip to the server each time: its
    socket tells when the server has closed it."""

    @event.listens_for(engine, "checkin")
    def checkin(_dbapi_connection: Any, record: Any) -> None:
        record.info["used_at"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def checkout(dbapi_connection: Any, record: Any, _proxy: Any) -> None:
        rested = time.monotonic() - record.info.get("used_at", time.monotonic())
        if rested < PING_AFTER and not _has_something_to_say(dbapi_connection):
            return
        try:
            engine.dialect.do_ping(dbapi_connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise InvalidatePoolError from error


def _has_something_to_say(dbapi_connection: Any) -> bool:
    """Whether the server has sent something that nobody asked for: its end, as a rule."""
    # PyMySQL has no fileno of its own.
    socket = dbapi_connection if hasattr(dbapi_connection, "fileno") else dbapi_connection._sock  # noqa: SLF001
    if socket is None:
        return True
    poll = select.poll()
    poll.register(socket.fileno(), select.POLLIN)
    return bool(poll.poll(0))
