"""One service's database: sessions for reading, and whole transactions that are run again when they must be.

READ COMMITTED on MariaDB and PostgreSQL; on SQLite WAL with `BEGIN IMMEDIATE` behind one writer lock, so that a
transaction that will write never finds half-way that it has to give up its snapshot.
"""

from __future__ import annotations

import datetime
import random
import re
import select
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

import msgspec
from oslo_db import exception as db_errors
from oslo_db.sqlalchemy import exc_filters
from sqlalchemy import (
    Connection,
    CursorResult,
    Engine,
    ExceptionContext,
    Row,
    Select,
    Table,
    UpdateBase,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.orm import Session

T = TypeVar("T")

RETRIED: tuple[type[Exception], ...] = (db_errors.DBDeadlock, db_errors.DBConnectionError, db_errors.RetryRequest)
ATTEMPTS = 12
READ_ATTEMPTS = 4
_FAILING_ROW = re.compile(r"Failing row contains \(.*\)\.", re.DOTALL)
PING_AFTER = 30.0
"""Seconds for which a connection may rest unused before it is tried with a ping."""
_MYSQL_DATETIME = 12
"""FIELD_TYPE.DATETIME of MySQL's protocol."""
_COMMIT_FAILED = 1180
"""MySQL's ER_ERROR_DURING_COMMIT."""

_POSITIONS_SUFFICE = {"_result_disable_adapt_to_context": True}
"""What SQLAlchemy's own entities are asked for with; or else it would match each column of each statement, so that
values can be had by column. Without it only more time is taken."""


class TryAgain(db_errors.RetryRequest):  # type: ignore[misc]
    """Raised inside `Database.write` work to have the whole transaction run again."""

    def __init__(self) -> None:
        super().__init__(None)


@dataclass(frozen=True, slots=True)
class _Commit(Generic[T]):
    """What a transaction's work answered, and what it left in its session's `info`."""

    result: T
    info: Mapping[Any, Any]


class _Asking(Session):
    """A session without a transaction: a statement whose connection is lost is asked once more on another."""

    def execute(self, *args: Any, **more: Any) -> Any:
        return self.ask(super().execute, *args, **more)

    def scalars(self, *args: Any, **more: Any) -> Any:
        return self.ask(super().scalars, *args, **more)

    def scalar(self, *args: Any, **more: Any) -> Any:
        return self.ask(super().scalar, *args, **more)

    def ask(self, ask: Callable[..., Any], *args: Any, **more: Any) -> Any:
        try:
            return ask(*args, **more)
        except db_errors.DBConnectionError:
            return _retried(lambda: self._ask_anew(ask, *args, **more), (db_errors.DBConnectionError,), READ_ATTEMPTS)

    def _ask_anew(self, ask: Callable[..., Any], *args: Any, **more: Any) -> Any:
        self.expunge_all()  # or the rollback would take from the rows what they hold
        self.rollback()
        return ask(*args, **more)


class Database:
    """:param url: a SQLAlchemy URL; `sqlite:////path`, `mysql+pymysql://…`, `postgresql+psycopg2://…`

    On a server, queries outside of transactions have connections of their own, in autocommit: the begin and the end of
    a transaction would each be a trip to the server.
    """

    def __init__(self, url: str, *, pool_size: int = 40, max_overflow: int = 20) -> None:
        self.url = make_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._writer: AbstractContextManager[object] = threading.Lock() if self.is_sqlite else nullcontext()
        sizes = {"pool_size": pool_size, "max_overflow": max_overflow}
        if self.is_sqlite:
            self.engine = self._engine(**sizes)
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
            connect_args=self._connecting(),
            **options,
        )
        event.listen(engine, "handle_error", _hide_values)
        event.listen(engine, "handle_error", _take_for_lost)
        exc_filters.register_engine(engine)
        return engine

    def _connecting(self) -> dict[str, Any]:
        """What the client library is told."""
        if self.is_sqlite:
            return {"check_same_thread": False, "timeout": 30}
        library = self.url.get_dialect().import_dbapi().__name__
        if library not in {"pymysql", "MySQLdb"}:
            return {}
        # Their own way from text to a time, in Python, is a fifth of what a list of a thousand rows costs.
        conversions = import_module(f"{library}.converters").conversions
        return {"conv": {**conversions, _MYSQL_DATETIME: datetime.datetime.fromisoformat}}

    @contextmanager
    def read(self, *, snapshot: bool = False) -> Iterator[Session]:
        """A session for reading; nothing done in it is kept.

        :param snapshot: have all its queries see the same state of the database, as they always do on SQLite
        """
        engine = self.engine if snapshot else self._reading
        kind = Session if snapshot else _Asking
        with kind(engine, expire_on_commit=False, autoflush=False) as tx:
            if snapshot and not self.is_sqlite:
                tx.connection(execution_options={"isolation_level": "REPEATABLE READ"})
            yield tx

    def write(self, work: Callable[[Session], T]) -> T:
        """Run `work(tx)` in one transaction and commit it; what it raises rolls everything back.

        The whole of `work` is run again after a deadlock, a failed certification or a lost connection, so it
        makes its ids beforehand and does nothing outside the database (see `after_commit`, and `proven_by`).
        """
        unanswered: list[_Commit[T]] = []

        def once() -> _Commit[T]:
            try:
                return self._write_once(work, unanswered)
            except Exception:
                # Of a COMMIT whose answer was lost, a second run would only find that all is done already.
                if unanswered and self._arrived(unanswered[-1]):
                    return unanswered[-1]
                raise

        commit = _retried(once, RETRIED, ATTEMPTS)
        for callback in commit.info.get("after_commit", ()):
            callback()
        return commit.result

    def _write_once(self, work: Callable[[Session], T], unanswered: list[_Commit[T]]) -> _Commit[T]:
        # The lock is held until a transaction that fails has been rolled back, too.
        with self._writer, Session(self.engine, expire_on_commit=False) as tx:
            if self.is_sqlite:
                tx.connection(execution_options={"pumice_write": True})
            commit = _Commit(work(tx), tx.info)
            tx.flush()
            try:
                tx.commit()
            except db_errors.DBConnectionError:
                unanswered.append(commit)
                raise
            return commit

    def _arrived(self, commit: _Commit[T]) -> bool:
        proof = commit.info.get("proof")
        if proof is None:
            return False
        with self.read() as tx:
            return bool(proof(tx))

    def close(self) -> None:
        for engine in {self.engine, self._reading}:
            engine.dispose()


def _retried(call: Callable[[], T], after: tuple[type[Exception], ...], attempts: int) -> T:
    for attempt in range(1, attempts + 1):
        try:
            return call()
        except after:
            if attempt == attempts:
                raise
            # Full jitter: two transactions that collided must not meet again.
            time.sleep(random.uniform(0, min(1.0, 0.005 * 2**attempt)))  # noqa: S311
    raise AssertionError("unreachable: the last attempt returns or raises")


def after_commit(tx: Session, callback: Callable[[], None]) -> None:
    """Have `callback` called once when the transaction of `tx` has been committed (doorbells, caches)."""
    tx.info.setdefault("after_commit", []).append(callback)


def proven_by(tx: Session, proof: Callable[[Session], bool]) -> None:
    """Say how another session sees that the transaction of `tx` has been committed, should the answer to its COMMIT be
    lost with the connection. Without it, the transaction is run again then."""
    tx.info["proof"] = proof


def changed(tx: Session, statement: UpdateBase, values: Mapping[str, Any] | None = None) -> int:
    """Execute an UPDATE, DELETE or INSERT and return how many rows it matched.

    :param values: of the parameters of a statement that was made once (`on`), and of columns that it sets besides
    """
    result = tx.execute(statement, values, execution_options={"synchronize_session": False})
    return cast("CursorResult[Any]", result).rowcount


def on(model: Any) -> Table:
    """The table of a mapped class, to make a statement of once that is executed for each request.

    Making a statement anew, of mapped columns, costs two thirds of what it takes to have it executed.
    """
    return cast("Table", model.__table__)


def plain_rows(tx: Session, statement: Select[Any]) -> Sequence[Row[Any]]:
    """What `statement` finds, as it comes from the connection: nothing of it becomes an entity."""

    def ask() -> Sequence[Row[Any]]:
        return tx.connection().execute(statement, execution_options=_POSITIONS_SUFFICE).all()

    return tx.ask(ask) if isinstance(tx, _Asking) else ask()


def _hide_values(context: ExceptionContext) -> None:
    """PostgreSQL tells the whole row that a constraint refused, secrets included."""
    for error in (context.original_exception, context.sqlalchemy_exception):
        if error is not None:
            error.args = tuple(
                _FAILING_ROW.sub("Failing row contains (…).", arg) if isinstance(arg, str) else arg
                for arg in error.args
            )


def _take_for_lost(context: ExceptionContext) -> None:
    """A Galera node that loses the others in the middle of a COMMIT answers that this failed, and is of no more use:
    that is a connection lost there, which oslo.db knows only of statements after it."""
    if context.original_exception.args[:1] == (_COMMIT_FAILED,):
        context.is_disconnect = True


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
