"""How the text of a list's filter becomes a condition on a column.

A `Condition` is `f(column, text, version)`. It raises ValueError where the text is refused (answered as 400);
text that no value of the column can equal gives a condition that nothing passes.
"""

from __future__ import annotations

import ast
import datetime
import math
import operator
import re
from collections.abc import Callable
from typing import Any

from sqlalchemy import JSON, Boolean, ColumnElement, DateTime, Float, Integer, Numeric, and_, false, true

from pumice.kernel.api.values import boolean_word, shown
from pumice.kernel.api.versions import Version

Condition = Callable[[Any, str, Version], ColumnElement[bool]]

_LONGEST_LITERAL = 8192
_JSON_KEY = re.compile(r"[A-Za-z0-9\-_:./ ]{1,255}")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_equal: Callable[[Any, Any], ColumnElement[bool]] = operator.eq
_COMPARISONS: dict[str, Callable[[Any, Any], ColumnElement[bool]]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "eq": _equal,
    "neq": operator.ne,
    "lt": operator.lt,
    "lte": operator.le,
}


def text(column: Any, value: str, _version: Version) -> ColumnElement[bool]:
    """Exactly this text."""
    return _equal(column, value)


def whole_number(column: Any, value: str, _version: Version) -> ColumnElement[bool]:
    return _equal(column, int(value)) if _INTEGER.fullmatch(value) else false()


def number(column: Any, value: str, _version: Version) -> ColumnElement[bool]:
    try:
        wanted = float(value)
    except ValueError:
        return false()
    return _equal(column, wanted) if math.isfinite(wanted) else false()


def flag(strict_from: str = "") -> Condition:
    """A boolean's word. Below the version `strict_from` every text but `false` and `0` means true."""

    def condition(column: Any, value: str, version: Version) -> ColumnElement[bool]:
        lenient = strict_from and version < strict_from
        wanted = value.lower() not in {"false", "0"} if lenient else boolean_word(value)
        return _equal(column, wanted)

    return condition


def pairs(column: Any, value: str, _version: Version) -> ColumnElement[bool]:
    """A dictionary literal such as {'k': 'v'}, all of whose pairs a JSON column of texts must hold."""
    return and_(true(), *(_holds(column, str(key), one) for key, one in dictionary(value).items()))


def dictionary(value: str) -> dict[Any, Any]:
    """Read a dictionary literal; raises ValueError."""
    if len(value) > _LONGEST_LITERAL:
        raise ValueError(f"{len(value)} characters are refused: at most {_LONGEST_LITERAL} are allowed")
    try:
        literal = ast.literal_eval(value.strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        literal = None
    if not isinstance(literal, dict):
        raise ValueError(f"{shown(value)} is refused: a dictionary such as {{'key': 'value'}} is allowed")
    return literal


def _holds(column: Any, key: str, value: Any) -> ColumnElement[bool]:
    # Keys of other characters are never stored, and would be syntax in the databases' JSON paths.
    if not _JSON_KEY.fullmatch(key) or not isinstance(value, str | int):
        return false()
    return _equal(column[key].as_string(), str(value))


def times(column: Any, value: str, _version: Version) -> ColumnElement[bool]:
    """Comparisons `op:time`, comma separated, all of which must hold; op is gt, gte, eq, neq, lt or lte."""
    return and_(*(_comparison(column, one.strip()) for one in value.split(",")))


def _comparison(column: Any, value: str) -> ColumnElement[bool]:
    name, _, moment = value.partition(":")
    if name not in _COMPARISONS:
        raise ValueError(f"the operator {shown(name)} is refused: one of {', '.join(_COMPARISONS)} is allowed")
    return _COMPARISONS[name](column, read_time(moment))


def not_before(column: Any, value: str, _version: Version) -> ColumnElement[bool]:
    """From this time on."""
    return _COMPARISONS["gte"](column, read_time(value))


def not_after(column: Any, value: str, _version: Version) -> ColumnElement[bool]:
    """Up to this time."""
    return _COMPARISONS["lte"](column, read_time(value))


def read_time(value: str) -> datetime.datetime:
    """An ISO 8601 time, taken as UTC where it has no offset, as naive UTC; raises ValueError."""
    try:
        moment = datetime.datetime.fromisoformat(value.strip())
        return moment.astimezone(datetime.UTC).replace(tzinfo=None) if moment.tzinfo else moment
    except (ValueError, OverflowError):
        raise ValueError(f"the time {shown(value)} is refused: ISO 8601 is allowed") from None


def condition_of(column: Any) -> Condition:
    """The natural comparison of a column's type."""
    kinds: tuple[tuple[Any, Condition], ...] = (
        (Boolean, flag()),
        (Integer, whole_number),
        ((Float, Numeric), number),
        (DateTime, times),
        (JSON, pairs),
    )
    return next((kind for types, kind in kinds if isinstance(column.type, types)), text)
