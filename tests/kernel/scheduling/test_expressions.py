from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pumice.kernel.scheduling.expressions import MAX_LENGTH, ExpressionError, evaluate

NAMES: dict[str, dict[str, Any]] = {
    "volume": {"size": 10, "volume_type_id": None},
    "stats": {"free_capacity_gb": 500.5, "host": "h@b#p", "nested": {"iops": 7}, "list": [1]},
    "capabilities": {"multiattach": True, "total_volumes": 42},
    "extra": {"iops": "200", "tier": "gold", "flag": "True"},
    "qos": {},
    "share": {"share_proto": "CIFS"},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("1.5e2", 150),
        (".5", 0.5),
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 2 - 3", 5),
        ("12 / 2 / 3", 2),
        ("2 ^ 3 * 2", 16),
        ("-2 + 5", 3),
        ("--2", 2),
        ("3 - -2", 5),
        ("+3", 3),
        ("'a' == 'a'", True),
        ('"a" == "b"', False),
        ("'it\\'s' == \"it's\"", True),
        ("'a' < 'b'", True),
        ("'a' == 1", False),
        ("'a' != 1", True),
        ("1 <> 2", True),
        ("1 < 2 < 3", True),
        ("3 > 2 > 2", False),
        ("1 <= 1 >= 1", True),
        ("True and False", False),
        ("True && not False", True),
        ("False or True", True),
        ("False || 0", False),
        ("1 | 0", True),
        ("1 & 0", False),
        ("!True", False),
        ("!0 == 1", True),
        ("not 1 == 2", True),
        ("not not 1", True),
        ("True or False and False", True),
        ("False and nothing.at_all", False),
        ("True or nothing.at_all", True),
        ("1 ? 2 : 3", 2),
        ("0 ? 2 : 3", 3),
        ("0 ? 1 : 0 ? 2 : 3", 3),
        ("1 ? 0 ? 1 : 2 : 3", 2),
        ("1 < 2 ? 10 + 1 : nothing.at_all", 11),
        ("min(3, 1, 2)", 1),
        ("max(1, volume.size)", 10),
        ("abs(-3.5)", 3.5),
        ("abs(min(-1, -2)) + max(1)", 3),
        ("volume.size < 100 and stats.free_capacity_gb > 500", True),
        ("stats.host == 'h@b#p'", True),
        ("stats.nested.iops", 7),
        ("extra.iops >= 200", True),
        ("extra.iops * 2", 400),
        ("extra.tier == 'gold' ? 100 : 0", 100),
        ("capabilities.multiattach", True),
        ("capabilities.multiattach == True", True),
        ("volume.volume_type_id == None", True),
        ("volume.volume_type_id != None", False),
        ("(share.share_proto == 'CIFS') ? 100 : 50", 100),
        ("(share.share_proto == 'NFS') ? 100 : 50", 50),
        ("1<2and 3<4", True),
        (" 1\n +\t2 ", 3),
    ],
)
def test_values(text: str, expected: float | bool) -> None:
    result = evaluate(text, NAMES)
    assert result == expected
    assert isinstance(result, bool) is isinstance(expected, bool)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "cannot be understood"),
        ("1 +", "cannot be understood"),
        ("1 2", "cannot be understood"),
        ("and", "cannot be understood"),
        ("(1", "cannot be understood"),
        ("1 ? 2", "cannot be understood"),
        ("volume.size = 1", "cannot be understood"),
        ("'open", "cannot be understood"),
        ("volume[0]", "cannot be understood"),
        ("lambda: 1", "cannot be understood"),
        ("volume.size; 1", "cannot be understood"),
        ("open('x')", "open is no function: abs, min, max are"),
        ("volume.size()", "cannot be understood"),
        ("__import__('os')", "__import__ is no function"),
        ("abs(1, 2)", "abs takes one argument"),
        ("volume", "neither a number nor a text"),
        ("nobody", "nobody is unknown"),
        ("volume.colour", "volume.colour is unknown"),
        ("volume.__class__", "volume.__class__ is unknown"),
        ("volume.size.real", "volume.size.real is unknown"),
        ("stats.list", "neither a number nor a text"),
        ("extra.tier + 1", "'gold' is no number"),
        ("extra.tier > 1", "'gold' is no number"),
        ("volume.volume_type_id > 1", "None is no number"),
        ("1 / 0", "cannot be computed"),
        ("9 ^ 9 ^ 9 ^ 9 ^ 9", "cannot be computed"),
        ("(0 - 8) ^ 0.5", "no real number"),
        ("'a' * 1000", "'a' is no number"),
        ("1 + " * MAX_LENGTH + "1", "2000 are allowed"),
        ("(" * 900 + "1" + ")" * 900, "cannot be understood"),
        ("!" * 1900 + "1", "cannot be understood"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ExpressionError, match=reason):
        evaluate(text, NAMES)


def test_a_broken_expression_fails_each_time() -> None:
    for _ in range(2):
        with pytest.raises(ExpressionError):
            evaluate("1 +* 2", NAMES)


def test_deep_nesting_is_parsed_in_linear_time() -> None:
    before = time.thread_time()
    assert evaluate("(" * 12 + "1 + 1" + ")" * 12, NAMES) == 2
    assert time.thread_time() - before < 0.5


tokens = st.sampled_from(
    [*"+-*/^()?:!&|<>,.'\" ", "==", "!=", "<>", "&&", "||", "and ", "or ", "not ", "min(", "max(", "abs(", "1", "2.5",
     "1e308", "'a'", "True", "None", "volume.size", "extra.tier", "stats.list", "stats.", "x", "__class__"]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(tokens, max_size=25).map("".join) | st.text(max_size=60))
def test_whatever_the_text_it_is_a_value_or_its_own_error(text: str) -> None:
    try:
        result = evaluate(text, NAMES)
    except ExpressionError:
        return
    assert result is None or isinstance(result, bool | int | float | str)


numbers = st.integers(0, 50).map(float)


@settings(max_examples=200, deadline=None)
@given(st.recursive(
    numbers.map(repr),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "<", "==", ">="]), inner).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
    ),
    max_leaves=12,
))  # fmt: skip
def test_it_computes_what_python_computes(text: str) -> None:
    assert evaluate(text, {}) == eval(text, {"__builtins__": {}})
