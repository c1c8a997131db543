"""No body, no query and no header gives a 500."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernel.api.toy import Toy

VERSIONS = st.sampled_from(["3.0", "3.1", "3.13", "3.31", "3.52", "3.60", "3.71"])
WHO = st.sampled_from(["member_a", "admin_a", "reader_a"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
KEYS = st.sampled_from(
    ["stone", "size", "name", "display_name", "metadata", "quarry_id", "polished", "cut", "new_size"]
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=4), inner, max_size=6),
    max_leaves=12,
)
BODIES = (
    st.binary(max_size=200)
    | JSON.map(msgspec.json.encode)
    | JSON.map(lambda value: msgspec.json.encode({"stone": value}))
    | st.dictionaries(KEYS, JSON, max_size=6).map(lambda value: msgspec.json.encode({"stone": {"size": 1, **value}}))
    | JSON.map(lambda value: msgspec.json.encode({"cut": value}))
    | st.text(alphabet='{}[]",:0123456789eE+-.\\utrfnalse', max_size=60).map(str.encode)
)
COLUMNS = [
    "name",
    "name~",
    "size",
    "polished",
    "metadata",
    "created_at",
    "quarry",
    "host",
    "weight",
    "secret",
    "meta",
    "id",
]
PAGING = ["limit", "offset", "marker", "sort", "sort_key", "sort_dir", "with_count", "all_tenants"]
NAMES = st.sampled_from(COLUMNS + PAGING)
VALUES = st.text(max_size=30) | st.sampled_from(
    [
        "{'a':'b'}",
        "{'a':",
        "gt:2026-01-01",
        "gt:9999-12-31T23:59:59-14:00",
        "-1",
        "1e9",
        "9" * 25,
        "size:asc",
        "id",
        "%00",
    ]
)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    service = Toy(tmp_path_factory.mktemp("fuzz"))
    service.add(id="known", name="a", meta={"a": "b"})
    yield service
    service.db.close()


def check(answer: Any) -> None:
    assert answer.status_code < 500, answer.text
    if answer.content:
        assert isinstance(answer.json, dict)


@settings(max_examples=150, deadline=None)
@given(body=BODIES, version=VERSIONS, who=WHO)
def test_bodies(toy: Toy, body: bytes, version: str, who: str) -> None:
    check(toy.call("POST", "/stones", version=version, who=who, body=body))
    check(toy.call("PUT", "/stones/known", version=version, who=who, body=body))
    check(toy.call("POST", "/stones/known/action", version=version, who=who, body=body))
    check(toy.call("PUT", "/stones/known/specs/a", version=version, who=who, body=body))


@settings(max_examples=150, deadline=None)
@given(pairs=st.lists(st.tuples(NAMES | st.text(max_size=5), VALUES), max_size=5), version=VERSIONS, who=WHO)
def test_queries(toy: Toy, pairs: list[tuple[str, str]], version: str, who: str) -> None:
    for path in ("/stones", "/stones/detail"):
        check(toy.call("GET", path, version=version, who=who, params=dict(pairs), params_csv=False))


@settings(max_examples=100, deadline=None)
@given(text=st.text(alphabet="ab=&%;+,0FfCc~é", max_size=40), who=WHO)
def test_raw_queries(toy: Toy, text: str, who: str) -> None:
    query = text.encode().decode("latin-1")
    check(toy.call("GET", f"/stones?{query}", who=who))


@settings(max_examples=100, deadline=None)
@given(
    version=st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
    forwarded=st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
    identifier=st.text(max_size=20),
)
def test_headers_and_paths(toy: Toy, version: str, forwarded: str, identifier: str) -> None:
    names = ("X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Forwarded-Prefix", "Forwarded", "Accept")
    headers = dict.fromkeys(names, forwarded) | {"OpenStack-API-Version": version}
    check(toy.call("GET", "/stones?limit=1", version=None, headers=headers))
    check(toy.call("GET", f"/stones/{identifier.replace('?', '')}"))
