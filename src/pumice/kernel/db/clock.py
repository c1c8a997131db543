"""The database's clock, which is the same for all processes: who is alive and what is due is a matter of it alone.

`kernel.db.base.utcnow` is the process's own clock, for times that people read.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import DateTime, Float, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine


class later(FunctionElement[Any]):  # noqa: N801 - reads as the SQL function that it is
    """`seconds` from now (0), as columns of times hold it: naive UTC."""

    name = "later"
    type: TypeEngine[Any] = DateTime()
    inherit_cache = True

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__(literal(seconds, Float))


class since(FunctionElement[Any]):  # noqa: N801 - as above
    """Seconds that have passed since a time; negative before it."""

    name = "since"
    type: TypeEngine[Any] = Float()
    inherit_cache = True


def _argument(element: FunctionElement[Any], compiler: SQLCompiler, how: dict[str, Any]) -> str:
    (argument,) = element.clauses
    return str(compiler.process(argument, **how))


@compiles(later, "sqlite")
def _later_sqlite(element: later, compiler: SQLCompiler, **how: Any) -> str:
    # Milliseconds, filled up to the six digits of all stored times, with which it is compared as text.
    return f"strftime('%Y-%m-%d %H:%M:%f', 'now', {_argument(element, compiler, how)} || ' seconds') || '000'"


@compiles(since, "sqlite")
def _since_sqlite(element: since, compiler: SQLCompiler, **how: Any) -> str:
    return f"(julianday('now') - julianday({_argument(element, compiler, how)})) * 86400.0"


@compiles(later, "mysql", "mariadb")
def _later_mysql(element: later, compiler: SQLCompiler, **how: Any) -> str:
    return f"utc_timestamp(6) + INTERVAL {_argument(element, compiler, how)} SECOND"


@compiles(since, "mysql", "mariadb")
def _since_mysql(element: since, compiler: SQLCompiler, **how: Any) -> str:
    return f"timestampdiff(MICROSECOND, {_argument(element, compiler, how)}, utc_timestamp(6)) / 1e6"


@compiles(later, "postgresql")
def _later_postgresql(element: later, compiler: SQLCompiler, **how: Any) -> str:
    return f"timezone('utc', clock_timestamp()) + make_interval(secs => {_argument(element, compiler, how)})"


@compiles(since, "postgresql")
def _since_postgresql(element: since, compiler: SQLCompiler, **how: Any) -> str:
    return f"extract(epoch FROM timezone('utc', clock_timestamp()) - {_argument(element, compiler, how)})"
