from __future__ import annotations

import pytest

from pumice.kernel.api.request import Query
from pumice.kernel.auth.context import RequestContext
from pumice.kernel.db import scope
from pumice.kernel.errors import BadRequest, Forbidden
from tests.kernel.api.requests import a_request
from tests.support.identity import PROJECT_A


def test_query_values_in_order() -> None:
    query = Query("b=1&a=x%20y&b=2&empty=&%C3%A9=%2B")
    assert list(query) == [("b", "1"), ("a", "x y"), ("b", "2"), ("empty", ""), ("é", "+")]
    assert query.all("b") == ["1", "2"]
    assert query.get("b") == "2"
    assert query.get("empty") == ""
    assert query.get("none") is None
    assert query.get("none", "default") == "default"
    assert "a" in query
    assert "c" not in query


@pytest.mark.parametrize("text", ["a=%FF", "a=%00", "%00=a", "&".join(["a=1"] * 300)])
def test_queries_that_cannot_be_read(text: str) -> None:
    with pytest.raises(BadRequest):
        Query(text)


def test_booleans() -> None:
    query = Query("a=True&b=off&c=&d=maybe")
    assert query.boolean("a") is True
    assert query.boolean("b", default=True) is False
    assert query.boolean("none") is False
    assert query.boolean("none", default=True) is True
    for refused in ("c", "d"):
        with pytest.raises(BadRequest, match=f"{refused}: .* allowed"):
            query.boolean(refused)


def test_integers() -> None:
    query = Query("a=0&b=2147483647&c=2147483648&d=-1&e=x&f=&g=1.0&h=%D9%A3&i=" + "9" * 2000)
    assert query.integer("a") == 0
    assert query.integer("b") == 2147483647
    assert query.integer("c", maximum=None) == 2147483648
    assert query.integer("none") is None
    assert query.integer("none", 7) == 7
    for refused in "cdefghi":
        with pytest.raises(BadRequest, match=f"{refused}: .* allowed"):
            query.integer(refused)


def test_scopes() -> None:
    assert a_request().scope == scope.own(PROJECT_A)
    assert a_request(who="admin").scope == scope.everything()
    assert a_request("all_tenants=1").list_scope == scope.own(PROJECT_A)
    assert a_request("all_tenants=1", who="admin_a").list_scope == scope.everything()
    assert a_request("all_tenants=0", who="admin_a").list_scope == scope.own(PROJECT_A)
    assert a_request(who="admin_a").list_scope == scope.own(PROJECT_A)
    assert a_request("all_tenants=odd").list_scope == scope.own(PROJECT_A)
    with pytest.raises(BadRequest):
        _ = a_request("all_tenants=odd", who="admin").list_scope
    nowhere = RequestContext(roles=frozenset({"reader"}))
    assert a_request(context=nowhere).scope == scope.own("")


def test_rules() -> None:
    req = a_request(allowed=("may",))
    assert req.allowed("may")
    assert not req.allowed("may not")
    req.authorize("may")
    with pytest.raises(Forbidden, match="may not"):
        req.authorize("may not")


def test_headers_and_links() -> None:
    req = a_request()
    assert req.header("if-match") == "etag"
    assert req.header("other") is None
    assert req.link("/v3/x") == "https://cloud/volume/v3/x"
    assert req.links("stones", "1") == [
        {"rel": "self", "href": f"https://cloud/volume/v3/{PROJECT_A}/stones/1"},
        {"rel": "bookmark", "href": f"https://cloud/volume/{PROJECT_A}/stones/1"},
    ]
