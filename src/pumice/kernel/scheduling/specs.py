"""Extra specs against capabilities: the operators that a spec's value may begin with."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from oslo_utils.strutils import bool_from_string

Operator = Callable[[str, str], bool]
"""(the capability as text, the operand) -> whether they match."""


def _numbers(compare: Callable[[float, float], bool]) -> Operator:
    def matches(value: str, operand: str) -> bool:
        try:
            return compare(float(value), float(operand))
        except ValueError:
            return False

    return matches


def _is(value: str, operand: str) -> bool:
    return bool(bool_from_string(value) is bool_from_string(operand))


OPERATORS: Mapping[str, Operator] = {
    "=": _numbers(operator.ge),
    "==": _numbers(operator.eq),
    "!=": _numbers(operator.ne),
    ">=": _numbers(operator.ge),
    "<=": _numbers(operator.le),
    "<in>": operator.contains,
    "<is>": _is,
    "s==": operator.eq,
    "s!=": operator.ne,
    "s<": operator.lt,
    "s<=": operator.le,
    "s>": operator.gt,
    "s>=": operator.ge,
}
"""All but `<or>`, which takes a list of operands."""

OR = "<or>"


def matches(
    value: Any, spec: str | None, *, operators: Mapping[str, Operator] = OPERATORS, fold_case: bool = False
) -> bool:
    """Whether a capability is what a spec asks for.

    A list matches with any of its elements; None is a missing capability, which only a null spec matches.
    :param fold_case: operators are found whatever their case
    """
    if spec is None or value is None:
        return spec is value
    if isinstance(value, list | tuple | set | frozenset):
        return any(matches(one, spec, operators=operators, fold_case=fold_case) for one in value)
    word, _, rest = spec.strip().partition(" ")
    if fold_case:
        word = word.lower()
    if word == OR:
        alternatives = spec.strip()[len(OR) :].replace(OR.upper(), OR) if fold_case else spec.strip()[len(OR) :]
        return str(value) in [one.strip() for one in alternatives.split(OR)]
    if word not in operators:
        return str(value) == spec
    operand = rest.split()[:1]
    return bool(operand) and operators[word](str(value), operand[0])


def wanted(extra_specs: Mapping[str, str | None]) -> Iterator[tuple[list[str], str | None]]:
    """The specs that a pool must match: (path of names into its capabilities, spec)."""
    for key, spec in extra_specs.items():
        scope, *path = key.split(":")
        if not path:
            yield [scope], spec
        elif scope == "capabilities":
            yield path, spec


def capability(capabilities: Any, path: list[str]) -> Any:
    """The capability at the end of the path, None when it is missing."""
    found = capabilities
    for name in path:
        if not isinstance(found, Mapping):
            return None
        found = found.get(name)
    return found
