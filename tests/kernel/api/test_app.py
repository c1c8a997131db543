from __future__ import annotations

import dataclasses
import io
import json
import re
from pathlib import Path
from typing import Any

import falcon.testing
import pytest

from pumice.kernel.api.app import build_app
from pumice.kernel.api.routes import Route
from tests.kernel.api.toy import DIALECT, TABLE, Toy
from tests.support.identity import PROJECT_A, PROJECT_B, PROJECT_SERVICE

REQUEST_ID = re.compile(r"req-[0-9a-f\-]{36}")


def fault(answer: Any) -> tuple[int, str, str]:
    """Status, the fault's key and its message; the code inside must agree."""
    [(key, inner)] = answer.json.items()
    assert inner["code"] == answer.status_code
    return answer.status_code, key, inner["message"]


def test_a_row_is_made_shown_listed_and_deleted(toy: Toy) -> None:
    made = toy.call("POST", "/stones", body={"stone": {"size": "3", "display_name": " x "}, "type": "any"})
    assert made.status_code == 202
    stone = made.json["stone"]
    assert (stone["size"], stone["name"]) == (3, "x")
    answer = toy.call("GET", f"/stones/{stone['id']}")
    assert answer.json == made.json
    assert answer.headers["ETag"] == "3"
    assert answer.headers["Content-Type"] == "application/json"
    assert [one["id"] for one in toy.call("GET", "/stones").json["stones"]] == [stone["id"]]
    gone = toy.call("DELETE", f"/stones/{stone['id']}")
    assert (gone.status_code, gone.content) == (204, b"")
    assert toy.call("GET", f"/stones/{stone['id']}").status_code == 404


def test_a_slash_at_the_end_is_another_path(toy: Toy) -> None:
    """An empty id is nobody's: a client that forgot it must not get, change or delete the collection."""
    assert toy.call("GET", "/stones").status_code == 200
    for method in ("GET", "DELETE"):
        assert toy.call(method, "/stones/").status_code == 404


def test_what_does_not_exist(toy: Toy) -> None:
    for path in ("/nothing", "/stones/a/b/c", "/stones/detail/action", "/stones/%00", "/stones/"):
        assert fault(toy.call("GET", path))[:2] == (404, "itemNotFound"), path
    assert toy.client.simulate_get("/v9/x").status_code == 404
    assert toy.client.simulate_get(f"/v3/{PROJECT_A}").status_code == 404


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"])
def test_a_method_without_a_handler(toy: Toy, tmp_path: Path, method: str) -> None:
    assert toy.call(method, "/stones").status_code == 404
    strict = Toy(tmp_path, dataclasses.replace(DIALECT, wrong_method_status=405))
    answer = strict.call(method, "/stones")
    assert answer.status_code == 405
    if method != "HEAD":
        assert fault(answer)[1] == "badMethod"
    strict.db.close()


def test_a_row_that_no_version_has_is_refused(toy: Toy) -> None:
    late = dataclasses.replace(TABLE[0], path="/later", since=f"3.{DIALECT.maximum.minor + 1}")
    with pytest.raises(ValueError, match=r"/later .*exists since 3\.\d+, but .*raise the maximum of the dialect"):
        build_app(toy, [*TABLE, late], [], DIALECT)


def test_routes_exist_within_their_versions(toy: Toy) -> None:
    assert fault(toy.call("GET", "/late", version="3.39"))[0] == 404
    late = toy.call("GET", "/late", version="3.40")
    assert (late.status_code, late.json, late.headers["X-Late"]) == (203, {"late": 1}, "yes")
    for path in ("/quarries", "/os-quarries"):
        assert toy.call("GET", path, version="3.10").json == {"old": False}
    assert toy.call("GET", "/quarries", version="3.9").json == {"old": True}
    assert toy.call("GET", "/os-quarries", version="3.9").status_code == 404


def test_bytes_are_sent_as_they_are(toy: Toy) -> None:
    answer = toy.call("GET", "/bytes")
    assert answer.content == b'{"raw":true}'
    assert answer.headers["Content-Type"] == "application/json"


def test_the_project_in_the_path(toy: Toy) -> None:
    stone = toy.add()
    assert fault(toy.call("GET", "/stones", project=PROJECT_B))[:2] == (400, "badRequest")
    assert fault(toy.call("GET", f"/stones/{stone.id}", project=PROJECT_A, who="admin"))[0] == 400
    assert fault(toy.call("GET", "/stones", project="some project"))[0] == 404
    assert toy.call("GET", "/stones", project=None, version="3.67").status_code == 200
    assert fault(toy.call("GET", "/stones", project=None, version="3.66"))[0] == 404
    assert fault(toy.call("GET", "/stones", project=None, version=None))[0] == 404


def test_rows_of_others_do_not_exist(toy: Toy) -> None:
    stone = toy.add()
    for method, path, body in (
        ("GET", f"/stones/{stone.id}", None),
        ("PUT", f"/stones/{stone.id}", {"stone": {"name": "mine"}}),
        ("DELETE", f"/stones/{stone.id}", None),
        ("POST", f"/stones/{stone.id}/action", {"cut": {"new_size": 1}}),
        ("POST", f"/stones/{stone.id}/action", {"throw": None}),
    ):
        assert fault(toy.call(method, path, who="member_b", project=PROJECT_B, body=body))[0] == 404, path
    assert toy.call("GET", f"/stones/{stone.id}", project=PROJECT_SERVICE, who="service").status_code == 200
    assert toy.call("GET", "/stones", who="member_b", project=PROJECT_B).json == {"stones": []}


def test_policy_is_asked_after_the_row_and_the_body(toy: Toy) -> None:
    stone = toy.add()
    path = f"/stones/{stone.id}"
    assert fault(toy.call("DELETE", path, who="reader_a"))[:2] == (403, "forbidden")
    assert "stone:delete" in fault(toy.call("DELETE", path, who="reader_a"))[2]
    assert fault(toy.call("PUT", path, who="reader_a", body={"stone": {}}))[0] == 400
    assert fault(toy.call("PUT", "/stones/unknown", who="reader_a", body={"stone": {"name": "x"}}))[0] == 404
    toy.policy.asked.clear()
    assert fault(toy.call("GET", "/two"))[0] == 403
    assert toy.policy.asked == ["stone:list", "stone:two"]
    toy.policy.asked.clear()
    assert toy.call("GET", "/quarries", who="no_roles_a").status_code == 200
    assert toy.policy.asked == []


def test_variables_beside_the_row(toy: Toy) -> None:
    stone = toy.add()
    answer = toy.call("PUT", f"/stones/{stone.id}/specs/hard", who="admin_a", body={"hard": "yes"})
    assert answer.json == {"hard": "yes"}


def test_actions_go_by_their_key(toy: Toy) -> None:
    path = f"/stones/{toy.add(size=7).id}/action"
    answer = toy.call("POST", path, body={"cut": {"new_size": "2"}})
    assert (answer.status_code, answer.json) == (202, {"cut": 2, "old": 7})
    anything: tuple[Any, ...] = (None, {}, {"any": "thing"}, 7, [])
    for ignored in anything:
        assert toy.call("POST", path, who="admin_a", body={"throw": ignored}).status_code == 200
    assert toy.call("POST", path, body={"cut": {"new_size": 2}, "type": 1}).status_code == 202


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"polish": {}},
        {"cut": {"new_size": 1}, "throw": None},
        {"cut": {"new_size": 1}, "other": None},
        {"CUT": {"new_size": 1}},
        {"cut": None},
        {"cut": []},
        {"cut": {}},
        {"cut": {"new_size": 1, "more": 1}},
        {"cut": {"new_size": 1, "type": 1}, "x": 1},
        {"cut": {"new_size": None}},
        [],
        "cut",
        None,
        b"",
        b"{",
        b'"' + b"x" * 1000,
    ],
)
def test_actions_that_are_refused(toy: Toy, body: Any) -> None:
    path = f"/stones/{toy.add().id}/action"
    answer = toy.call("POST", path, who="admin_a", body=b"null" if body is None else body)
    assert fault(answer)[:2] == (400, "badRequest")


def test_an_action_below_its_version_is_an_unknown_key(toy: Toy) -> None:
    path = f"/stones/{toy.add().id}/action"
    assert toy.call("POST", path, who="admin_a", body={"throw": None}, version="3.10").status_code == 200
    answer = toy.call("POST", path, who="admin_a", body={"throw": None}, version="3.9")
    assert fault(answer) == (400, "badRequest", "one action is expected, got throw; allowed here are: cut")


def test_an_action_below_its_version_is_missing_where_the_dialect_says_so(tmp_path: Path) -> None:
    toy = Toy(tmp_path, dataclasses.replace(DIALECT, actions_go_missing=True))
    path = f"/stones/{toy.add().id}/action"
    for body, status in (({"throw": None}, 404), ({"fly": None}, 400), ({"throw": None, "cut": None}, 400)):
        assert fault(toy.call("POST", path, who="admin_a", body=body, version="3.9"))[0] == status
    toy.db.close()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"null", 400),
        (b"[]", 400),
        (b"{", 400),
        (b"\xff", 400),
        (b'{"stone": {"size": NaN}}', 400),
        (b'{"stone": {"size": 1, "name": "a\\u0000b"}}', 400),
        (b'{"stone": {"size": 1, "name": "a\\\\\\u0000b"}}', 400),
        (b'{"stone": {"size": 1, "name": "a\\\\u0000b"}}', 202),
        (b'{"stone": {"size": 1}, "OS-HINTS:hints": ' + b"[" * 500 + b"]" * 500 + b"}", 400),
        (b'{"stone": {"size": 1}, "OS-HINTS:hints": {"a": ' + b"[" * 62 + b"]" * 62 + b"}}", 202),
        (b'{"stone": {"size": 1}, "OS-HINTS:hints": {"a": ' + b"[" * 63 + b"]" * 63 + b"}}", 400),
        (b'{"stone": {"size": 1}, "OS-HINTS:hints": {"a": [' + b",".join([b"{}"] * 500) + b"]}}", 202),
        (b"[" * 100_000, 400),
        (b'{"stone": {"size": 1' + b"0" * 5000 + b"}}", 400),
        (b'{"stone": {"size": 1, "name": "' + b"x" * 114688 + b'"}}', 413),
        (b'{"stone": {"size": 1, "size": 2}}', 202),
    ],
)
def test_bodies(toy: Toy, body: bytes, status: int) -> None:
    answer = toy.call("POST", "/stones", body=body)
    assert answer.status_code == status, answer.text
    if status == 413:
        assert answer.json["overLimit"]["retryAfter"] == "0"


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 202),
        ("application/json; charset=utf-8", 202),
        ("APPLICATION/JSON", 202),
        ("application/vnd.openstack.volume+json", 202),
        ("text/plain", 415),
        ("application/xml", 415),
        ("application/jsonx", 415),
        ("nonsense", 415),
        ("", 202),
    ],
)
def test_media_types(toy: Toy, content_type: str, status: int) -> None:
    body = json.dumps({"stone": {"size": 1}}).encode()
    headers = {"Content-Type": content_type} if content_type else {}
    assert toy.call("POST", "/stones", body=body, headers=headers).status_code == status


def raw_call(toy: Toy, body: bytes, **environ: Any) -> tuple[str, Any]:
    """A request whose WSGI environment a server would make of unusual headers."""
    seen: list[str] = []
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": f"/v3/{PROJECT_A}/stones",
        "SERVER_NAME": "api",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "QUERY_STRING": "",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": io.StringIO(),
        **environ,
    }
    answer = b"".join(toy.client.app(environ, lambda status, headers, error=None: seen.append(status)))  # type: ignore[arg-type]
    return seen[0], json.loads(answer)


def test_a_body_without_a_length(toy: Toy) -> None:
    body = b'{"stone": {"size": 1}}'
    assert raw_call(toy, body, HTTP_TRANSFER_ENCODING="chunked")[0] == "202 Accepted"
    assert raw_call(toy, b" " * 200_000, HTTP_TRANSFER_ENCODING="chunked")[0].startswith("413")
    assert raw_call(toy, body)[0].startswith("400")
    status, answer = raw_call(toy, body, CONTENT_LENGTH="many")
    assert (status[:3], list(answer)) == ("400", ["badRequest"])
    assert raw_call(toy, body, CONTENT_LENGTH="-1")[0].startswith("400")
    assert raw_call(toy, body, CONTENT_LENGTH="99999999999")[0].startswith("413")


def test_experimental_routes_need_their_header(tmp_path: Path) -> None:
    toy = Toy(tmp_path, dataclasses.replace(DIALECT, experimental_header="X-Experimental"))
    assert toy.call("GET", "/trial", version="3.20").status_code == 404
    answer = toy.call("GET", "/trial", version="3.20", headers={"X-Experimental": "True"})
    assert (answer.status_code, answer.headers["X-Experimental"]) == (200, "True")
    answer = toy.call("GET", "/trial", version="3.21")
    assert (answer.status_code, answer.headers["X-Experimental"]) == (200, "False")
    toy.db.close()


def test_request_ids(toy: Toy) -> None:
    ids = set()
    for path in ("/stones", "/bug", "/nothing", "/stones/unknown"):
        headers = toy.call("GET", path).headers
        assert REQUEST_ID.fullmatch(headers["x-openstack-request-id"])
        assert headers["x-compute-request-id"] == headers["x-openstack-request-id"]
        ids.add(headers["x-openstack-request-id"])
    assert len(ids) == 4
    assert REQUEST_ID.fullmatch(toy.client.simulate_get("/").headers["x-openstack-request-id"])


def test_without_a_context_nothing_is_answered(toy: Toy) -> None:
    status, answer = raw_call(toy, b"", HTTP_X_TEST_IDENTITY="nobody")
    assert (status, list(answer)) == ("401 Unauthorized", ["unauthorized"])
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": f"/v3/{PROJECT_A}/stones", "wsgi.input": io.BytesIO()}
    environ |= {"SERVER_NAME": "a", "SERVER_PORT": "1", "SERVER_PROTOCOL": "HTTP/1.1", "wsgi.url_scheme": "http"}
    seen: list[str] = []
    answer = b"".join(toy.app({**environ, "wsgi.errors": io.StringIO()}, lambda status, *_: seen.append(status)))  # type: ignore[arg-type]
    assert (seen, list(json.loads(answer))) == (["401 Unauthorized"], ["unauthorized"])


def test_answers_are_counted_by_route(toy: Toy) -> None:
    stone = toy.add()
    toy.call("GET", f"/stones/{stone.id}")
    toy.call("POST", f"/stones/{stone.id}/action", body={"cut": {"new_size": 1}})
    toy.call("GET", "/bug")
    toy.call("GET", f"/{'x' * 50}")
    toy.client.simulate_get("/openapi.json")
    assert toy.metrics.seen == [
        ("GET", "/stones/{id}", 200),
        ("POST", "/stones/{id}/action cut", 202),
        ("GET", "/bug", 500),
        ("GET", "", 404),
        ("GET", "", 200),
    ]


def refusing(*more: Route) -> list[Route]:
    return [*TABLE, *more]


@pytest.mark.parametrize(
    "route",
    [
        Route("GET", "/quarries", lambda req: None, "", since="3.5"),
        Route("GET", "/os-quarries", lambda req: None, "", until="3.10"),
        Route("GET", "/stones/{other}", lambda req: None, ""),
        Route("POST", "/stones/{id}/action", lambda req: None, "", action="cut"),
        Route("POST", "/stones/{id}/action", lambda req: None, ""),
    ],
)
def test_a_table_with_two_answers_to_one_request_is_refused(tmp_path: Path, route: Route) -> None:
    with pytest.raises(ValueError, match="two rows"):
        Toy(tmp_path, DIALECT, refusing(route))


def test_methods_that_nobody_knows_are_counted_as_one(toy: Toy) -> None:
    for method in ("GRAB", "SNATCH"):
        environ = falcon.testing.create_environ(path="/")
        environ["REQUEST_METHOD"] = method
        b"".join(toy.app(environ, lambda *_: None))  # type: ignore[arg-type]
    assert {seen[0] for seen in toy.metrics.seen} == {""}


def test_where_the_policy_comes_first_rows_of_others_are_not_looked_up(tmp_path: Path) -> None:
    for first, status in ((False, 404), (True, 403)):
        toy = Toy(tmp_path, dataclasses.replace(DIALECT, authorizes_first=first))
        stone = toy.add(name="theirs")
        path = f"/stones/{stone.id}"
        assert (
            toy.call("POST", f"{path}/action", who="member_b", project=PROJECT_B, body={"throw": None}).status_code
            == status
        )
        # What may be done to own rows is not refused.
        assert toy.call("DELETE", path, who="member_b", project=PROJECT_B).status_code == 404
        assert toy.call("DELETE", path).status_code == 204
