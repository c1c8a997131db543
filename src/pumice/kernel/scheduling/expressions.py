"""The language of filter and goodness functions.

    (volume.size < 100 and stats.free_capacity_gb > 500) ? 100 : min(50, capabilities.total_volumes / 2)

Numbers, texts in quotes, `True`, `False`, `None`, dotted names; `+ - * / ^` (power; all from left to right),
`== != <> < <= > >=` (also on texts, also in chains), `not and or` or `! && & || |`, `x ? a : b`, and the
functions min, max and abs.
`!` and the sign bind tightest, `not` binds looser than comparisons. A text that reads as a number is one
where a number is needed, since extra specs are texts.

Expressions come from operators' configuration and from drivers; they can only compute: no calls but the three
functions, no attributes but the names given, floats only, bounded length and depth.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar, cast

import pyparsing as pp

Value = float | str | bool | None
Names = Mapping[str, Mapping[str, Any]]
Node = Callable[[Names], Value]

T = TypeVar("T")

MAX_LENGTH = 2000


class ExpressionError(ValueError):
    """The expression cannot be parsed, or cannot be computed with these values."""


def evaluate(text: str, names: Names) -> Value:
    """
    :param names: what dotted names stand for: {"volume": {"size": 1}} gives `volume.size`
    :raises ExpressionError: and nothing else
    """
    try:
        return _compiled(text)(names)
    except (ArithmeticError, RecursionError) as error:
        raise ExpressionError(f"{text!r} cannot be computed: {error}") from error


def _number(value: Value) -> float:
    if value is None:
        raise ExpressionError("None is no number")
    try:
        return float(value)
    except ValueError as error:
        raise ExpressionError(f"{value!r} is no number") from error


def _alike(left: Value, right: Value) -> tuple[Any, Any]:
    """Both as texts, or both as numbers where one of them is."""
    if isinstance(left, str) and isinstance(right, str):
        return left, right
    return _number(left), _number(right)


def _equal(left: Value, right: Value) -> bool:
    if left is None or right is None:
        return left is right
    try:
        a, b = _alike(left, right)
    except ExpressionError:
        return False
    return bool(a == b)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Value, Value], bool]:
    return lambda left, right: compare(*_alike(left, right))


def _power(left: float, right: float) -> float:
    result: object = left**right
    if not isinstance(result, float):
        raise ExpressionError(f"{left} ^ {right} is no real number")
    return result


COMPARISONS: Mapping[str, Callable[[Value, Value], bool]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<>": lambda left, right: not _equal(left, right),
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
}
ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": _power,
}
FUNCTIONS: Mapping[str, Callable[[list[float]], float]] = {"abs": lambda args: abs(args[0]), "min": min, "max": max}
CONSTANTS: Mapping[str, Value] = {"True": True, "true": True, "False": False, "false": False, "None": None}


def _constant(tokens: pp.ParseResults) -> Node:
    value: Value = tokens[0]
    return lambda _names: value


def _name(tokens: pp.ParseResults) -> Node:
    """A constant, a dotted name, or a call where arguments follow."""
    text: str = tokens[0]
    if len(tokens) > 1:
        return _call(text, list(tokens[1]))
    if text in CONSTANTS:
        return lambda _names: CONSTANTS[text]
    path = text.split(".")

    def look_up(names: Names) -> Value:
        found: Any = names
        for part in path:
            if not isinstance(found, Mapping) or part not in found:
                raise ExpressionError(f"{text} is unknown")
            found = found[part]
        if found is not None and not isinstance(found, str | int | float):
            raise ExpressionError(f"{text} is neither a number nor a text")
        return found

    return look_up


def _call(name: str, arguments: list[Node]) -> Node:
    if name not in FUNCTIONS:
        raise ExpressionError(f"{name} is no function: {', '.join(FUNCTIONS)} are")
    if name == "abs" and len(arguments) != 1:
        raise ExpressionError("abs takes one argument")
    function = FUNCTIONS[name]
    return lambda names: function([_number(argument(names)) for argument in arguments])


def _unary(tokens: pp.ParseResults) -> Node:
    sign, operand = tokens
    if sign in ("!", "not"):
        return lambda names: not operand(names)
    if sign == "-":
        return lambda names: -_number(operand(names))
    return lambda names: _number(operand(names))


def _arithmetic(tokens: pp.ParseResults) -> Node:
    first, steps = tokens[0], _pairs(tokens, ARITHMETIC)

    def compute(names: Names) -> Value:
        value = _number(first(names))
        for step, operand in steps:
            value = step(value, _number(operand(names)))
        return value

    return compute if steps else first


def _comparison(tokens: pp.ParseResults) -> Node:
    first, steps = tokens[0], _pairs(tokens, COMPARISONS)

    def compare(names: Names) -> Value:
        left = first(names)
        for holds, operand in steps:
            right = operand(names)
            if not holds(left, right):
                return False
            left = right
        return True

    return compare if steps else first


def _pairs(tokens: pp.ParseResults, table: Mapping[str, T]) -> list[tuple[T, Node]]:
    return [(table[sign], operand) for sign, operand in zip(tokens[1::2], tokens[2::2], strict=True)]


def _conjunction(tokens: pp.ParseResults) -> Node:
    operands: list[Node] = tokens[::2]
    return operands[0] if len(operands) == 1 else lambda names: all(operand(names) for operand in operands)


def _disjunction(tokens: pp.ParseResults) -> Node:
    operands: list[Node] = tokens[::2]
    return operands[0] if len(operands) == 1 else lambda names: any(operand(names) for operand in operands)


def _choice(tokens: pp.ParseResults) -> Node:
    if len(tokens) == 1:
        return tokens[0]  # type: ignore[no-any-return]
    condition, when_true, when_false = tokens
    return lambda names: (when_true if condition(names) else when_false)(names)


def _grammar() -> pp.ParserElement:
    """One rule a level of precedence, each reading its operand once: the time to parse is linear."""
    expression = pp.Forward()
    number = pp.Regex(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?").set_parse_action(lambda found: float(found[0]))
    text = pp.QuotedString("'", esc_char="\\") | pp.QuotedString('"', esc_char="\\")
    word = pp.Regex(r"(?!(and|or|not)\b)[A-Za-z_]\w*(\.\w+)*")
    arguments = pp.Group(pp.Suppress("(") + pp.DelimitedList(expression) + pp.Suppress(")"))
    constant = (number | text).add_parse_action(_constant)
    name = (word + pp.Optional(arguments)).set_parse_action(_name)
    operand = constant | name | (pp.Suppress("(") + expression + pp.Suppress(")"))
    signed = pp.Forward()
    signed <<= (pp.Regex(r"[+-]|!(?!=)") + signed).set_parse_action(_unary) | operand
    power = (signed + (pp.Literal("^") + signed)[...]).set_parse_action(_arithmetic)
    product = (power + (pp.one_of("* /") + power)[...]).set_parse_action(_arithmetic)
    total = (product + (pp.one_of("+ -") + product)[...]).set_parse_action(_arithmetic)
    comparison = (total + (pp.Regex("[=!]=|<>|[<>]=?") + total)[...]).set_parse_action(_comparison)
    negation = pp.Forward()
    negation <<= (pp.Keyword("not") + negation).set_parse_action(_unary) | comparison
    both = (negation + (pp.Regex(r"&&?|and\b") + negation)[...]).set_parse_action(_conjunction)
    either = (both + (pp.Regex(r"\|\|?|or\b") + both)[...]).set_parse_action(_disjunction)
    choice = pp.Suppress("?") + expression + pp.Suppress(":") + expression
    expression <<= (either + pp.Optional(choice)).set_parse_action(_choice)
    return expression


_GRAMMAR = _grammar()


@lru_cache(maxsize=1024)
def _compiled(text: str) -> Node:
    """What computes the expression; one that is broken is kept too, and fails each time it is asked."""
    try:
        if len(text) > MAX_LENGTH:
            raise ExpressionError(f"it has {len(text)} characters, {MAX_LENGTH} are allowed")
        return cast("Node", _GRAMMAR.parse_string(text, parse_all=True)[0])
    except (pp.ParseBaseException, ValueError, RecursionError) as error:
        reason = f"{text[:200]!r} cannot be understood: {error}"

    def broken(_names: Names) -> Value:
        raise ExpressionError(reason)

    return broken
