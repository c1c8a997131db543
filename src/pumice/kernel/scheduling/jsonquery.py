"""The query language of JsonFilter: lists with an operator first.

    ["and", [">=", "$free_capacity_gb", 100], ["in", "$storage_protocol", "iSCSI", "nfs"]]

`=`, `<`, `>`, `<=`, `>=` hold when the first argument stands so to each of the others, `in` when it is one of
them; `and`, `or` and `not` (true when none of its arguments is) join. `$a.b` is the pool's value b within a.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from typing import Any

from pumice.kernel.scheduling.specs import capability

MAX_LENGTH = 4000

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
OPERATORS = (*COMPARISONS, "in", "and", "or", "not")


class QueryError(ValueError):
    """The query is no JSON, or not made of the operators that there are."""


def parse(text: str) -> list[Any]:
    """:raises QueryError:"""
    if len(text) > MAX_LENGTH:
        raise QueryError(f"a query of {len(text)} characters is too long: {MAX_LENGTH} are allowed")
    try:
        query = json.loads(text)
        _check(query)
    except (ValueError, RecursionError) as error:
        raise QueryError(f"the query cannot be understood: {error}") from error
    return query  # type: ignore[no-any-return]


def holds(query: list[Any], values: Mapping[str, Any]) -> bool:
    """Whether a parsed query is true of the values. What cannot be compared is not true."""
    return bool(_value(query, values))


def _check(query: Any) -> None:
    if not isinstance(query, list) or not query or query[0] not in OPERATORS:
        raise QueryError(f"{json.dumps(query)[:100]} does not begin with one of {' '.join(OPERATORS)}")
    for argument in query[1:]:
        if isinstance(argument, list):
            _check(argument)


def _value(term: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(term, list):
        return _apply(term[0], [_value(argument, values) for argument in term[1:]])
    if isinstance(term, str) and term.startswith("$"):
        return capability(values, term[1:].split("."))
    return term


def _apply(sign: str, arguments: list[Any]) -> bool:
    match sign:
        case "and":
            return all(arguments)
        case "or":
            return any(arguments)
        case "not":
            return not any(arguments)
        case "in":
            return bool(arguments) and arguments[0] in arguments[1:]
    return len(arguments) > 1 and all(_compare(sign, arguments[0], other) for other in arguments[1:])


def _compare(sign: str, left: Any, right: Any) -> bool:
    try:
        return COMPARISONS[sign](left, right)
    except TypeError:
        return False
