from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pumice.kernel.scheduling.jsonquery import OPERATORS, QueryError, holds, parse

VALUES = {"free_capacity_gb": 500.0, "storage_protocol": "iSCSI", "nested": {"iops": 7}, "flag": True}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (["=", "$storage_protocol", "iSCSI"], True),
        (["=", "$storage_protocol", "nfs"], False),
        (["=", "$storage_protocol", "iSCSI", "iSCSI"], True),
        (["=", "$storage_protocol", "iSCSI", "nfs"], False),
        ([">=", "$free_capacity_gb", 500], True),
        ([">", "$free_capacity_gb", 500], False),
        (["<", "$free_capacity_gb", 501, 502], True),
        (["<=", 499, "$free_capacity_gb"], True),
        (["in", "$storage_protocol", "nfs", "iSCSI"], True),
        (["in", "$storage_protocol", "nfs"], False),
        (["=", "$nested.iops", 7], True),
        (["and", [">=", "$free_capacity_gb", 1], ["=", "$flag", True]], True),
        (["and", [">=", "$free_capacity_gb", 1], ["=", "$flag", False]], False),
        (["or", [">", "$free_capacity_gb", 1000], ["=", "$nested.iops", 7]], True),
        (["not", ["=", "$flag", False]], True),
        (["not", ["=", "$flag", True]], False),
        (["and"], True),
        (["or"], False),
        (["in"], False),
        (["="], False),
        (["=", "$flag"], False),
        ([">", "$missing", 1], False),
        (["=", "$missing", None], True),
        ([">", "$storage_protocol", 1], False),
        (["=", "$nested.iops.deeper", 7], False),
    ],
)
def test_queries(query: list[Any], expected: bool) -> None:
    assert holds(parse(json.dumps(query)), VALUES) is expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "1",
        "[]",
        "[null]",
        '{"a": 1}',
        '["plus", 1, 2]',
        '[["="], 1]',
        '["and", ["xor", 1]]',
        "[" * 3000,
        '["="' + " " * 4000 + "]",
    ],
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(QueryError):
        parse(text)


queries = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["$flag", "$nested", "$x.y", "text", "$"]),
    lambda inner: st.tuples(st.sampled_from(OPERATORS), st.lists(inner, max_size=3)).map(lambda q: [q[0], *q[1]]),
    max_leaves=15,
)


@given(queries)
def test_a_query_is_refused_or_answered(query: Any) -> None:
    try:
        parsed = parse(json.dumps(query))
    except QueryError:
        return
    assert isinstance(holds(parsed, VALUES), bool)
