"""The kernel's operations over the API, as the block service serves them."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from pumice.kernel.db.base import new_id, utcnow
from pumice.kernel.operations import api as operations
from pumice.kernel.operations.model import Operation
from tests.block.conftest import BlockApi, MakeApi
from tests.support.identity import PROJECT_A

KEYS = {
    "id",
    "kind",
    "resource_type",
    "resource_id",
    "state",
    "step",
    "progress",
    "created_at",
    "updated_at",
    "finished_at",
    "error",
    "request_id",
    "project_id",
}


@pytest.fixture
def api(make_api: MakeApi) -> BlockApi:
    return make_api(operations)


def add(api: BlockApi, **values: Any) -> str:
    row = {
        "id": new_id(),
        "kind": "volume.create",
        "queue": "scheduler",
        "resource_type": "VOLUME",
        "resource_id": new_id(),
        "project_id": PROJECT_A,
        "deadline": utcnow() + datetime.timedelta(hours=1),
        "args": {"inner": "detail"},
        **values,
    }
    api.add(Operation(**row))
    return str(row["id"])


def ids(api: BlockApi, query: str = "", who: str = "reader_a") -> list[str]:
    return [one["id"] for one in api.ok("GET", f"/operations{query}", who=who)["operations"]]


def test_an_operation_shows_how_it_goes_on(api: BlockApi) -> None:
    made = add(api, progress=12.5, state="running", request_id="req-1")
    shown = api.ok("GET", f"/operations/{made}", who="reader_a", version="3.0")["operation"]
    assert set(shown) == KEYS
    assert (shown["progress"], shown["state"], shown["request_id"]) == (12.5, "running", "req-1")
    assert api.ok("GET", "/operations", who="reader_a") == {"operations": [shown]}


def test_who_sees_what(api: BlockApi) -> None:
    shown, hidden = add(api), add(api, shown=False)
    assert ids(api) == [shown]
    api.refused(404, "GET", f"/operations/{hidden}", who="member_a")
    for who in ("member_b", "reader_b"):
        assert ids(api, who=who) == []
        api.refused(404, "GET", f"/operations/{shown}", who=who)
    assert set(ids(api, who="admin")) == {shown, hidden}
    api.ok("GET", f"/operations/{hidden}", who="admin")
    api.refused(403, "GET", "/operations", who="no_roles_a")


def test_filters_and_pages(api: BlockApi) -> None:
    volume = new_id()
    first, second = add(api, resource_id=volume), add(api, kind="volume.delete", state="failed")
    assert ids(api, f"?resource_id={volume}") == [first]
    assert ids(api, "?kind=volume.delete&state=failed") == [second]
    assert ids(api, "?state=queued") == [first]
    page = api.ok("GET", "/operations?limit=1", who="reader_a")
    query = page["operations_links"][0]["href"].partition("?")[2]
    assert [one["id"] for one in page["operations"]] + ids(api, f"?{query}") == [second, first]
    api.refused(400, "GET", "/operations?queue=scheduler", who="reader_a")
    assert ids(api, "?args={'inner': 'detail'}", who="admin") == []
