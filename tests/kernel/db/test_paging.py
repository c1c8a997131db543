from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event

from pumice.kernel.db import scope
from pumice.kernel.db.engine import Database
from pumice.kernel.db.paging import Filter, Listing, Page, read_resource_filters
from pumice.kernel.errors import BadRequest, NotFound
from tests.kernel.api.requests import a_request
from tests.kernel.api.toy import STONES, Stone
from tests.support.databases import url_of
from tests.support.identity import PROJECT_A, PROJECT_B

START = datetime.datetime(2026, 1, 1)


def stone(number: int, **values: Any) -> Stone:
    """One created every second minute of 2026, so that pairs share their creation time."""
    usual = {
        "id": f"{number:08d}",
        "project_id": PROJECT_A,
        "user_id": "u",
        "created_at": START + datetime.timedelta(minutes=number // 2),
        "name": None if number % 3 == 0 else f"n{number % 2}",
        "size": number,
        "weight": None if number % 4 == 0 else float(number % 3),
        "polished": number % 2 == 1,
        "host": f"quarry-{number % 2}",
        "secret": "s",
        "meta": {"k a.b": str(number % 2), "all": "same"},
    }
    return Stone(**(usual | values))


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    database = Database(url_of(tmp_path_factory.mktemp("paging") / "db.sqlite"))
    Stone.metadata.create_all(database.engine, tables=[Stone.__table__])  # type: ignore[list-item]
    rows = [stone(number) for number in range(12)] + [stone(99, project_id=PROJECT_B)]
    database.write(lambda tx: tx.add_all(rows))
    yield database
    database.close()


def page(db: Database, query: str = "", listing: Listing[Stone] = STONES, **asking: Any) -> Page[Stone]:
    with db.read() as tx:
        return listing.page(tx, a_request(query, **asking))


def sizes(db: Database, query: str = "", listing: Listing[Stone] = STONES, **asking: Any) -> list[int]:
    return [row.size for row in page(db, query, listing, **asking).rows]


NEWEST_FIRST = list(range(11, -1, -1))


def test_the_newest_come_first_and_only_those_of_the_project(db: Database) -> None:
    assert sizes(db) == NEWEST_FIRST
    assert sizes(db, who="admin_a") == NEWEST_FIRST
    assert sizes(db, "all_tenants=1") == NEWEST_FIRST
    assert sizes(db, "all_tenants=true", who="admin_a") == [99, *NEWEST_FIRST]
    assert sizes(db, f"all_tenants=true&project_id={PROJECT_B}", who="admin_a") == [99]
    assert sizes(db, f"project_id={PROJECT_B}", who="admin_a") == []
    with db.read() as tx:
        everything = STONES.page(tx, a_request(), scope=scope.everything(), where=[Stone.size > 10])
    assert [row.size for row in everything.rows] == [99, 11]


def test_limits(db: Database) -> None:
    assert sizes(db, "limit=3") == [11, 10, 9]
    assert sizes(db, "limit=0") == []
    assert sizes(db, "limit=99999999999999999999999999") == NEWEST_FIRST
    assert sizes(db, "limit=7", limit=4) == [11, 10, 9, 8]
    assert sizes(db, limit=4) == [11, 10, 9, 8]
    assert sizes(db, "limit=3&offset=10") == [1, 0]
    assert sizes(db, "offset=2147483647") == []


def test_full_pages_lead_on(db: Database) -> None:
    assert page(db, "limit=12").full
    assert not page(db, "limit=13").full
    assert not page(db, "limit=0").full
    assert page(db, limit=12).full
    assert not page(db).full
    assert not page(db, "limit=5&offset=12").full


@pytest.mark.parametrize("query", ["limit=-1", "limit=x", "limit=", "limit=1.5", "offset=-1", "offset=2147483648"])
def test_bad_limits(db: Database, query: str) -> None:
    with pytest.raises(BadRequest, match="allowed"):
        page(db, query)


def test_counts_are_of_all_that_matches(db: Database) -> None:
    assert page(db, "with_count=true&limit=2").count == 12
    assert page(db, "with_count=1&limit=0&name=n1").count == 4
    assert page(db, "with_count=yes&limit=2&offset=3&marker=00000005").count == 12
    assert page(db, "with_count=false").count is None
    assert page(db).count is None
    assert page(db, "with_count=nonsense", version="3.44").count is None
    assert page(db, "with_count=true", version="3.44").count is None
    with pytest.raises(BadRequest):
        page(db, "with_count=nonsense")


def test_markers(db: Database) -> None:
    assert sizes(db, "marker=00000003") == [2, 1, 0]
    assert sizes(db, "marker=00000003&limit=2&offset=1") == [1, 0]
    # The marker need not match the filter; it must be in the scope.
    assert sizes(db, "marker=00000003&size=1") == [1]
    for unknown in ("nothing", "00000099", "", "x" * 1000):
        with pytest.raises(NotFound, match="marker"):
            page(db, f"marker={unknown}")
    strict = Listing(Stone, "stone", unknown_marker=BadRequest)
    with pytest.raises(BadRequest, match="marker"):
        page(db, "marker=nothing", strict)


@pytest.mark.parametrize(
    ("query", "start"),
    [
        ("sort=size:asc", [0, 1, 2]),
        ("sort=size", [11, 10, 9]),
        ("sort_key=size&sort_dir=asc", [0, 1, 2]),
        ("sort_key=size", [11, 10, 9]),
        ("sort_dir=asc", [0, 1, 2]),
        ("sort=", [11, 10, 9]),
        ("sort=weight:asc,size:desc", [8, 4, 0]),
        ("sort_key=weight&sort_key=size&sort_dir=asc&sort_dir=desc", [8, 4, 0]),
        ("sort_key=weight&sort_key=size&sort_dir=asc", [0, 4, 8]),
        ("sort=weight:asc&sort=size:desc", [8, 4, 0]),
        ("sort=name:desc", [11, 7, 5]),
        ("sort=name:asc", [0, 3, 6]),
        ("sort=created_at:asc", [0, 1, 2]),
        ("sort=created_at:asc,id:desc", [1, 0, 3]),
        ("sort=size:asc,size:desc", [0, 1, 2]),
    ],
)
def test_sorting(db: Database, query: str, start: list[int]) -> None:
    assert sizes(db, query)[:3] == start


@pytest.mark.parametrize(
    "query",
    [
        "sort=colour",
        "sort=secret",
        "sort=size:up",
        "sort=size:",
        "sort=size,",
        "sort=size:asc:desc",
        "sort=size&sort_key=name",
        "sort=size&sort_dir=asc",
        "sort_key=colour",
        "sort_key=size&sort_dir=up",
        "sort_key=size&sort_dir=asc&sort_dir=desc",
        "sort_dir=asc&sort_dir=desc",
        "sort_key=",
    ],
)
def test_bad_sorting(db: Database, query: str) -> None:
    with pytest.raises(BadRequest):
        page(db, query)


def test_a_sort_key_from_a_version_on(db: Database) -> None:
    assert sizes(db, "sort=name:asc", version="3.30")[:1] == [0]
    with pytest.raises(BadRequest, match="sort key"):
        page(db, "sort=name:asc", version="3.29")


KEYS = st.lists(
    st.tuples(st.sampled_from(["name", "size", "weight", "created_at", "id"]), st.sampled_from(["asc", "desc"])),
    max_size=4,
)


@settings(max_examples=60, deadline=None)
@given(keys=KEYS, limit=st.integers(1, 5))
def test_pages_together_are_the_whole_list(db: Database, keys: list[tuple[str, str]], limit: int) -> None:
    sort = "sort=" + ",".join(f"{key}:{direction}" for key, direction in keys)
    whole = sizes(db, sort)
    seen: list[int] = []
    marker = ""
    for _ in range(13):
        found = page(db, f"{sort}&limit={limit}{marker}")
        seen += [row.size for row in found.rows]
        if not found.full:
            break
        marker = f"&marker={found.rows[-1].id}"
    assert seen == whole
    assert sorted(seen) == list(range(12))


FILTERS = [
    ("name=n1", [11, 7, 5, 1]),
    ("name=N1", []),
    ("name=", []),
    ("name=n0&name=n1", [11, 7, 5, 1]),
    ("name=n1&size=5", [5]),
    ("size=5", [5]),
    ("size=five", []),
    ("size=99999999999999999999", []),
    ("name~=1", [11, 7, 5, 1]),
    ("name~=%25", []),
    ("name~=_", []),
    ("size~=1", []),
    ("metadata~=k", []),
    ("quarry~=1", []),
    ("quarry=1", [11, 9, 7, 5, 3, 1]),
    ("polished=true", [11, 9, 7, 5, 3, 1]),
    ("polished=No", [10, 8, 6, 4, 2, 0]),
    ("metadata={'k a.b':'1'}", [11, 9, 7, 5, 3, 1]),
    ("metadata={'k a.b':'1','all':'same'}", [11, 9, 7, 5, 3, 1]),
    ('metadata={"k a.b":1}', [11, 9, 7, 5, 3, 1]),
    ("metadata={'k a.b':'1','all':'other'}", []),
    ("metadata={'none':'1'}", []),
    ("metadata={'k a.b':None}", []),
    ("metadata={'k a.b':['1']}", []),
    ("metadata={'k\"].x':'1'}", []),
    ("metadata={1:2}", []),
    ("metadata={}", NEWEST_FIRST),
    ("created_at=gte:2026-01-01T00:05:00", [11, 10]),
    ("created_at=gt:2026-01-01T00:04:00%2B00:00", [11, 10]),
    ("created_at=gt:2026-01-01T05:04:00%2B05:00", [11, 10]),
    ("created_at=gte:2026-01-01T00:02:00Z, lt:2026-01-01T00:04:00", [7, 6, 5, 4]),
    ("created_at=eq:2026-01-01", [1, 0]),
    ("created_at=neq:2026-01-01T00:05:00,gt:2026-01-01T00:03:00", [9, 8]),
    ("created_at=lte:2026-01-01T00:00:00", [1, 0]),
]


@pytest.mark.parametrize(("query", "found"), FILTERS)
def test_filters(db: Database, query: str, found: list[int]) -> None:
    assert sizes(db, query) == found


@pytest.mark.parametrize(
    "query",
    [
        "polished=maybe",
        "polished=",
        "metadata=nonsense",
        "metadata=[1]",
        "metadata={'a'",
        "metadata=__import__('os')",
        "metadata=" + "(" * 5000,
        "metadata=" + "{'a':" * 3000,
        "metadata={'a':'" + "x" * 9000 + "'}",
        "metadata={'\\d':'1'",
        "metadata={[]:1}",
        "created_at=2026-01-01",
        "created_at=after:2026-01-01",
        "created_at=gt:",
        "created_at=gt:yesterday",
        "created_at=gt:2026-01-01,",
        "created_at=gt:0001-01-01T00:00:00%2B23:00",
        "created_at=gt:9999-12-31T23:59:59-23:00",
        "%C3%A9=1",
    ],
)
def test_bad_filters(db: Database, query: str) -> None:
    with pytest.raises(BadRequest):
        page(db, query)


def test_filters_below_their_versions_are_ignored(db: Database) -> None:
    assert sizes(db, "created_at=nonsense", version="3.59") == NEWEST_FIRST
    assert sizes(db, "name~=1", version="3.33") == NEWEST_FIRST
    assert sizes(db, "polished=maybe", version="3.1") == [11, 9, 7, 5, 3, 1]
    assert sizes(db, "polished=FALSE", version="3.1") == [10, 8, 6, 4, 2, 0]
    assert sizes(db, "created_at=nonsense", version="3.59", who="admin_a") == NEWEST_FIRST


def test_unknown_filters_of_others_than_admins(db: Database) -> None:
    for name in ("host", "colour2", "secret", "host~", "weight"):
        assert sizes(db, f"{name}=x", version="3.30") == NEWEST_FIRST
        expected = NEWEST_FIRST if name == "host~" else None
        if expected is None:
            with pytest.raises(BadRequest, match="name, metadata, size"):
                page(db, f"{name}=x", version="3.31")
    assert sizes(db, "host~=x", version="3.33") == NEWEST_FIRST
    with pytest.raises(BadRequest):
        page(db, "host~=x", version="3.34")


def test_admins_filter_on_any_column_but_secret_ones(db: Database) -> None:
    for version in ("3.0", "3.71"):
        assert sizes(db, "host=quarry-1", who="admin_a", version=version) == [11, 9, 7, 5, 3, 1]
        assert sizes(db, "weight=2", who="admin_a", version=version) == [11, 5, 2]
        assert sizes(db, "weight=heavy", who="admin_a", version=version) == []
        assert sizes(db, "weight=nan", who="admin_a", version=version) == []
        assert sizes(db, "colour2=red", who="admin_a", version=version) == []
        assert sizes(db, "secret=s", who="admin_a", version=version) == []
    assert sizes(db, "secret~=s", who="admin_a") == []
    assert sizes(db, "host~=y-1", who="admin_a") == [11, 9, 7, 5, 3, 1]
    assert sizes(db, "colour2~=y-1", who="admin_a") == []


def test_parameters_that_are_no_filters(db: Database) -> None:
    assert sizes(db, "colour=red&all_tenants=0") == NEWEST_FIRST


def test_the_operators_file_decides_what_others_may_use(db: Database) -> None:
    filters = {"stone": ["host"]}
    assert sizes(db, "host=quarry-1", filters=filters) == [11, 9, 7, 5, 3, 1]
    assert sizes(db, "host~=1", filters=filters) == [11, 9, 7, 5, 3, 1]
    with pytest.raises(BadRequest, match="allowed are: host"):
        page(db, "name=n1", filters=filters)
    with pytest.raises(BadRequest, match="allowed are: none"):
        page(db, "name=n1", filters={"stone": []})
    assert sizes(db, "name~=1", filters={"stone": ["name~"]}) == [11, 7, 5, 1]


def test_lists_without_pages_below_a_version(db: Database) -> None:
    late = Listing(Stone, "stone", configured=("size",), pages_from="3.5")
    assert sizes(db, "limit=1&sort=nonsense&marker=x&size=3&offset=x", late, version="3.4") == NEWEST_FIRST
    assert sizes(db, "limit=1&size=3", late, version="3.5") == [3]


def test_conditions_alone_serve_summaries(db: Database) -> None:
    req = a_request("size=5&limit=1&sort=size")
    with db.read() as tx:
        statement = scope.own(PROJECT_A).select(Stone).where(*STONES.conditions(req))
        assert [row.size for row in tx.scalars(statement)] == [5]


@contextmanager
def selects(db: Database) -> Iterator[list[str]]:
    """The SELECTs that are sent meanwhile."""
    statements: list[str] = []

    def keep(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        if statement.startswith("SELECT"):
            statements.append(statement)

    event.listen(Engine, "before_cursor_execute", keep)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", keep)


def test_a_page_costs_a_constant_number_of_queries(db: Database) -> None:
    with selects(db) as sent:
        page(db, "name=n1")
    assert len(sent) == 1
    with selects(db) as sent:
        page(db, "name=n1&limit=2&marker=00000005&with_count=1&metadata={'a':'b'}")
    assert len(sent) == 3
    with selects(db) as sent:
        page(db, "limit=0")
    assert sent == []


def test_an_order_without_nulls_is_that_of_an_index(db: Database) -> None:
    with selects(db) as sent:
        page(db, "marker=00000005")
        page(db, "sort=weight")
    assert ["CASE" in statement for statement in sent] == [False, False, True]


def test_a_column_alone_is_compared_as_its_type_suggests(db: Database) -> None:
    listing = Listing(
        Stone,
        "stone",
        configured=("heavy", "made", "polished"),
        filters=(Filter("heavy", Stone.weight), Filter("made", Stone.created_at)),
    )
    assert sizes(db, "heavy=2", listing) == [11, 5, 2]
    assert sizes(db, "made=lt:2026-01-01T00:01:00", listing) == [1, 0]
    assert sizes(db, "polished=no&heavy=1", listing) == [10]


def test_filters_may_not_need_a_column(db: Database) -> None:
    def refuse(value: str, req: Any) -> Any:
        raise ValueError("no such thing is allowed")

    listing = Listing(Stone, "stone", configured=("odd",), filters=(Filter("odd", refuse),))
    with pytest.raises(BadRequest, match="odd: no such thing"):
        page(db, "odd=1", listing)


def test_resource_filters(tmp_path: Path) -> None:
    assert read_resource_filters([STONES], None, others={"pool": ["name"]}) == {
        "stone": ["name", "metadata", "size", "polished", "created_at", "quarry"],
        "pool": ["name"],
    }
    file = tmp_path / "filters.json"
    file.write_text('{"stone": ["host"], "other": ["x"]}')
    assert read_resource_filters([STONES], file) == {"stone": ["host"], "other": ["x"]}
    file.write_text('{"stone": "host"}')
    with pytest.raises(ValueError, match=r"filters\.json: .*lists of filters"):
        read_resource_filters([STONES], file)
    with pytest.raises(ValueError, match="missing"):
        read_resource_filters([STONES], tmp_path / "missing.json")
