from __future__ import annotations

import dataclasses
import urllib.parse
from pathlib import Path

import falcon
import falcon.testing
import pytest

from pumice.kernel.api.links import place
from tests.kernel.api.toy import DIALECT, Toy
from tests.support.identity import PROJECT_A


def endpoint(public: str | None = None, root: str = "", **headers: str) -> str:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    raw = falcon.testing.create_req(path="/v3/a b/é", host="api", port=8776, root_path=root, headers=sent)
    return place(raw, public).endpoint


def test_the_host_of_the_request() -> None:
    assert endpoint() == "http://api:8776"
    assert endpoint(root="/volume") == "http://api:8776/volume"


def test_what_proxies_say() -> None:
    assert endpoint(X_Forwarded_Proto="https") == "https://api:8776"
    assert endpoint(X_Forwarded_Proto="https", X_Forwarded_Host="cloud") == "https://cloud"
    assert endpoint(X_Forwarded_Host="cloud:444, inner") == "http://cloud:444"
    assert (
        endpoint(X_Forwarded_Host="cloud", X_Forwarded_Port="8443", X_Forwarded_Proto="https") == "https://cloud:8443"
    )
    assert endpoint(X_Forwarded_Host="cloud", X_Forwarded_Port="443", X_Forwarded_Proto="https") == "https://cloud"
    assert endpoint(X_Forwarded_Host="cloud", X_Forwarded_Prefix="/block/") == "http://cloud/block"
    assert endpoint(X_Forwarded_Host="[::1]:80", X_Forwarded_Prefix="/b/c", root="/d") == "http://[::1]:80/b/c/d"
    assert endpoint(Forwarded='for=1.2.3.4;proto=https;host="cloud:1"') == "https://cloud:1"


def test_a_configured_endpoint_wins_and_keeps_its_prefix() -> None:
    assert endpoint("https://cloud/volume/", X_Forwarded_Host="other", root="/x") == "https://cloud/volume"


@pytest.mark.parametrize(
    "headers",
    [
        {"X_Forwarded_Host": "evil/path"},
        {"X_Forwarded_Host": 'a"b'},
        {"X_Forwarded_Host": ""},
        {"X_Forwarded_Prefix": "no-slash"},
        {"X_Forwarded_Prefix": "/a?b"},
        {"X_Forwarded_Port": "80a"},
        {"X_Forwarded_Proto": "javascript"},
    ],
)
def test_nonsense_of_proxies_is_ignored(headers: dict[str, str]) -> None:
    assert endpoint(**headers) == "http://api:8776"


def test_links_of_objects(toy: Toy) -> None:
    stone = toy.add()
    for project, who in ((PROJECT_A, "member_a"), (None, "member_a")):
        links = toy.call("GET", f"/stones/{stone.id}", project=project, who=who).json["stone"]["links"]
        assert [one["href"] for one in links] == [
            f"http://falconframework.org/v3/{PROJECT_A}/stones/{stone.id}",
            f"http://falconframework.org/{PROJECT_A}/stones/{stone.id}",
        ]


def test_links_without_the_project_where_the_dialect_says_so(tmp_path: Path) -> None:
    toy = Toy(tmp_path, dataclasses.replace(DIALECT, links_always_name_project=False))
    stone = toy.add()
    links = toy.call("GET", f"/stones/{stone.id}", project=None).json["stone"]["links"]
    assert links[0]["href"] == f"http://falconframework.org/v3/stones/{stone.id}"
    links = toy.call("GET", f"/stones/{stone.id}").json["stone"]["links"]
    assert links[0]["href"] == f"http://falconframework.org/v3/{PROJECT_A}/stones/{stone.id}"
    toy.db.close()


def test_the_next_page_is_of_the_same_list_at_the_public_place(tmp_path: Path) -> None:
    toy = Toy(tmp_path, public_endpoint="https://cloud/volume")
    for size in range(5):
        toy.add(size=size, name="é &b")
    seen: list[int] = []
    path = "/stones/detail?sort=size:asc&limit=2&name=%C3%A9%20%26b&offset=1"
    while True:
        answer = toy.call("GET", path).json
        seen += [one["size"] for one in answer["stones"]]
        if "stone_links" not in answer:
            break
        [link] = answer["stone_links"]
        assert link["rel"] == "next"
        url = urllib.parse.urlsplit(link["href"])
        assert (url.scheme, url.netloc, url.path) == ("https", "cloud", f"/volume/v3/{PROJECT_A}/stones/detail")
        query = urllib.parse.parse_qs(url.query)
        assert (query["name"], query["limit"], query["sort"]) == (["é &b"], ["2"], ["size:asc"])
        assert "offset" not in query
        path = f"/stones/detail?{url.query}"
    assert seen == [1, 2, 3, 4]
    toy.db.close()
