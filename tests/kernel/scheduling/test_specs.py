from __future__ import annotations

from typing import Any

import pytest

from pumice.kernel.scheduling.specs import OPERATORS, capability, matches, wanted


@pytest.mark.parametrize(
    ("value", "spec", "expected"),
    [
        # no operator: exact text
        ("fast", "fast", True),
        ("fast", "Fast", False),
        ("fast", "fast ", False),
        ("two words", "two words", True),
        (True, "True", True),
        (True, "true", False),
        (8, "8", True),
        ("", "", True),
        # numbers
        (10, "= 10", True),
        (11, "= 10", True),
        (9, "= 10", False),
        (10, "== 10.0", True),
        ("10", "== 10", True),
        (10, "== 11", False),
        (10, "!= 11", True),
        (10, "!= 10", False),
        (10, ">= 10", True),
        (9.5, ">= 10", False),
        (9.5, "<= 10", True),
        (11, "<= 10", False),
        ("fast", "== fast", False),
        ("fast", "!= slow", False),
        (10, ">= many", False),
        (10, ">=", False),
        (10, ">= 5 11", True),
        (10, "  >=   5", True),
        (10, "=>10", False),
        # texts
        ("abc", "<in> b", True),
        ("abc", "<in> d", False),
        ("abc", "<in> b d", True),
        ("a", "s== a", True),
        ("a", "s== b", False),
        ("a", "s!= b", True),
        ("a", "s!= a", False),
        ("a", "s< b", True),
        ("10", "s< 9", True),
        ("b", "s<= b", True),
        ("c", "s<= b", False),
        ("c", "s> b", True),
        ("b", "s> b", False),
        ("b", "s>= b", True),
        # booleans
        (True, "<is> True", True),
        (True, "<is> yes", True),
        ("true", "<is> True", True),
        (False, "<is> True", False),
        (False, "<is> False", True),
        ("anything", "<is> False", True),
        # one of a list
        ("b", "<or> a <or> b", True),
        ("c", "<or> a <or> b", False),
        ("two words", "<or> a <or> two words", True),
        (5, "<or> 4 <or> 5", True),
        ("b", "<or>", False),
        # lists match with any element
        (["gold", "silver"], "silver", True),
        (["gold", "silver"], "bronze", False),
        ([1, 5], ">= 5", True),
        ([], "gold", False),
        # missing
        (None, "fast", False),
        (None, "!= 5", False),
        (None, "", False),
        (None, None, True),
        ("fast", None, False),
        # there is no such operator
        (["a", "b"], "<all-in> a b", False),
        ("<all-in> a", "<all-in> a", True),
    ],
)
def test_operators(value: Any, spec: str | None, expected: bool) -> None:
    assert matches(value, spec) is expected


def test_operators_of_any_case() -> None:
    assert matches("abc", "<IN> b", fold_case=True)
    assert matches("b", "<OR> a <OR> b", fold_case=True)
    assert matches("b", "<Or> a <or> b", fold_case=True)
    assert not matches("abc", "<IN> b")


def test_other_operators() -> None:
    operators = {**OPERATORS, "<starts>": str.startswith}
    assert matches("abc", "<starts> ab", operators=operators)
    assert not matches("abc", "<starts> ab")


def test_which_specs_are_wanted() -> None:
    specs = {"a": "1", "capabilities:b": "2", "capabilities:c:d": "3", "provisioning:type": "thick", "x:y:z": "4"}
    assert list(wanted(specs)) == [(["a"], "1"), (["b"], "2"), (["c", "d"], "3")]


@pytest.mark.parametrize(
    ("path", "expected"), [(["a"], 1), (["b", "c"], 2), (["b", "d"], None), (["a", "b"], None), (["x"], None)]
)
def test_nested_capabilities(path: list[str], expected: Any) -> None:
    assert capability({"a": 1, "b": {"c": 2}}, path) == expected
