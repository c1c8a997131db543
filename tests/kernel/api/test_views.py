from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import pytest
from sqlalchemy import select
from sqlalchemy.orm import load_only

from pumice.kernel.api.fields import Named, Since, Until
from pumice.kernel.api.views import Guarded, Mapped, Of, OmitNone, View, time_text
from tests.kernel.api.requests import a_request
from tests.kernel.api.toy import Stone, StoneDetail, Toy

NOTHING: dict[str, str] = {}
NOON = datetime.datetime(2026, 1, 2, 12, 0, 0)


class Leaf(View):
    name: str


class Tree(View):
    id: int
    at: datetime.datetime | None
    leaf: Leaf | None
    leaves: list[Leaf]
    double: Annotated[int, Of(lambda row, req: row.id * 2)]
    when: Annotated[datetime.datetime, Of(lambda row, req: row.at)]
    best: Annotated[Leaf, Of(lambda row, req: row.leaves[0])]
    mapped: Annotated[str, Mapped("3.5", lambda value: value + "<3.5"), Mapped("3.9", lambda value: value + "<3.9")]
    key: Annotated[str, Named("os-key:name"), Since("3.2"), Until("3.8")]
    note: Annotated[str | None, OmitNone()]
    secret: Annotated[str, Guarded("see:secret")]
    price: Annotated[int, Guarded("see:price"), Of(lambda row, req: 1 / 0)]


@dataclass
class Row:
    id: int = 1
    at: datetime.datetime | None = NOON
    leaf: Any = None
    leaves: Any = ()
    mapped: str = "m"
    key: str = "k"
    note: str | None = None
    secret: str = "s"

    @property
    def by_property(self) -> str:
        return f"row {self.id}"


class Wrong(View):
    name: str
    size: int
    odd: Annotated[str, Of(lambda row, req: NOTHING["no"])]


class ByProperty(View):
    by_property: str


def shown(view: type[View], row: Any, version: str = "3.71", allowed: tuple[str, ...] = ()) -> dict[str, Any]:
    return a_request(version=version, allowed=allowed).view(view, row)


@pytest.fixture
def row() -> Row:
    return Row(leaves=[type("L", (), {"name": "a"})(), type("L", (), {"name": "b"})()])


def test_values_come_from_the_row_in_the_order_declared(row: Row) -> None:
    assert shown(Tree, row) == {
        "id": 1,
        "at": "2026-01-02T12:00:00.000000",
        "leaf": None,
        "leaves": [{"name": "a"}, {"name": "b"}],
        "double": 2,
        "when": "2026-01-02T12:00:00.000000",
        "best": {"name": "a"},
        "mapped": "m",
    }
    assert list(shown(Tree, row, allowed=("see:secret",)))[-2:] == ["mapped", "secret"]


def test_fields_exist_from_and_up_to_their_versions(row: Row) -> None:
    keys = {version: "os-key:name" in shown(Tree, row, version) for version in ("3.1", "3.2", "3.8", "3.9")}
    assert keys == {"3.1": False, "3.2": True, "3.8": True, "3.9": False}


def test_values_that_change_with_the_version(row: Row) -> None:
    assert shown(Tree, row, "3.9")["mapped"] == "m"
    assert shown(Tree, row, "3.8")["mapped"] == "m<3.9"
    assert shown(Tree, row, "3.4")["mapped"] == "m<3.5<3.9"


def test_none_is_left_out_where_said(row: Row) -> None:
    row.note = "here"
    assert shown(Tree, row)["note"] == "here"
    row.note = None
    assert "note" not in shown(Tree, row)


def test_a_guarded_field_is_asked_for_once_a_request_and_not_computed_in_vain(row: Row) -> None:
    req = a_request(allowed=("see:secret",))
    rows = req.views(Tree, [row] * 5)
    rows += req.views(Tree, [row])
    assert all(one["secret"] == "s" and "price" not in one for one in rows)
    assert sorted(req.service.policy.asked) == ["see:price", "see:secret"]  # type: ignore[attr-defined]


def test_rows_of_any_class(row: Row) -> None:
    assert shown(ByProperty, row) == {"by_property": "row 1"}
    assert a_request().views(Leaf, [type("A", (), {"name": 1})(), type("B", (), {"name": 2})()]) == [
        {"name": 1},
        {"name": 2},
    ]
    assert a_request().views(Leaf, []) == []


def test_columns_that_are_not_loaded_are_loaded(toy: Toy) -> None:
    stone = toy.add(name="granite", size=4)
    with toy.db.read() as tx:
        row = tx.scalars(select(Stone).options(load_only(Stone.name))).one()
        assert shown(StoneDetail, row)["size"] == 4
    fresh = Stone(id="x", project_id="p", size=1, meta={}, created_at=NOON)
    assert shown(StoneDetail, fresh)["name"] is None
    assert shown(StoneDetail, stone)["name"] == "granite"


def test_a_mistake_in_a_computed_value_is_not_taken_for_an_unloaded_column(toy: Toy) -> None:
    stone = toy.add()
    with toy.db.read() as tx, pytest.raises(KeyError, match="no"):
        shown(Wrong, tx.get(Stone, stone.id))


def test_answers_encode_as_json(row: Row) -> None:
    assert msgspec.json.decode(msgspec.json.encode(shown(Tree, row)))["at"] == "2026-01-02T12:00:00.000000"


def test_times_always_have_microseconds() -> None:
    assert time_text(None) is None
    assert time_text(NOON) == "2026-01-02T12:00:00.000000"
    assert time_text(NOON.replace(microsecond=1200)) == "2026-01-02T12:00:00.001200"


def test_exact_keys_at_each_boundary(toy: Toy) -> None:
    stone = toy.add(meta={"tag": "t"})
    base = {"id", "name", "links", "size", "created_at", "updated_at", "polished", "weight", "tag"}
    expected = {
        "3.0": base | {"old"},
        "3.4": base | {"old"},
        "3.5": base | {"old", "metadata"},
        "3.6": base | {"old", "metadata"},
        "3.7": base | {"metadata"},
        "3.8": base | {"metadata", "veins"},
        "3.71": base | {"metadata", "veins"},
    }
    for version, keys in expected.items():
        answer = toy.call("GET", f"/stones/{stone.id}", version=version)
        assert set(answer.json["stone"]) == keys, version
        answer = toy.call("GET", f"/stones/{stone.id}", version=version, who="admin_a")
        assert set(answer.json["stone"]) == keys | {"stone-host-attr:host"}, version
