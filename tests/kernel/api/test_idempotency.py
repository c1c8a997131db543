"""Requests with an Idempotency-Key: done once, and answered as often as they are sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from falcon.testing import Result
from oslo_db import exception as db_errors
from sqlalchemy import select

from pumice.kernel.answered import Answered
from pumice.kernel.api.idempotency import Repeated
from pumice.kernel.api.routes import Route
from tests.kernel.api.toy import DIALECT, CreateStone, Stone, Toy, raising
from tests.support.atonce import at_once, codes
from tests.support.identity import PROJECT_A, PROJECT_B

STONE = {"stone": {"size": 1, "name": "s", "metadata": {"a": "1", "b": "2"}}}
REPLAYED = "Idempotency-Replayed"


def create(toy: Toy, key: str | None = "k", body: Any = STONE, **more: Any) -> Result:
    return toy.call("POST", "/stones", body=body, headers={} if key is None else {"Idempotency-Key": key}, **more)


def stones(toy: Toy) -> set[str]:
    with toy.db.read() as tx:
        return set(tx.scalars(select(Stone.id)))


def test_a_repeat_is_answered_as_the_first_request_was(toy: Toy) -> None:
    first = create(toy)
    assert first.status_code == 202
    assert REPLAYED not in first.headers
    for _ in range(2):
        again = create(toy)
        assert (again.status_code, again.json) == (202, first.json)
        assert again.headers["X-Operation-Id"] == first.headers["X-Operation-Id"] == first.json["stone"]["id"]
        assert again.headers[REPLAYED] == "true"
        assert again.headers["OpenStack-API-Version"] == first.headers["OpenStack-API-Version"]
    assert stones(toy) == {first.json["stone"]["id"]}


def test_without_a_key_everything_is_done_anew_and_nothing_kept(toy: Toy) -> None:
    assert [create(toy, None).status_code for _ in range(2)] == [202, 202]
    assert len(stones(toy)) == 2
    with toy.db.read() as tx:
        assert tx.scalars(select(Answered)).all() == []


def test_the_order_of_keys_in_the_body_does_not_matter(toy: Toy) -> None:
    create(toy)
    again = create(toy, body=b'{ "stone": {"metadata": {"b": "2", "a": "1"}, "name": "s", "size": 1} }')
    assert again.headers[REPLAYED] == "true"


def test_another_request_with_the_key_is_refused(toy: Toy) -> None:
    create(toy)
    for other in (create(toy, body={"stone": {"size": 2}}), create(toy, version="3.70")):
        assert other.status_code == 422
        assert "another request" in other.text
        assert REPLAYED not in other.headers
    assert len(stones(toy)) == 1


def test_keys_are_those_of_their_project_and_user(toy: Toy) -> None:
    others: list[dict[str, Any]] = [
        {"who": "member_a"},
        {"who": "admin_a"},
        {"who": "member_b", "project": PROJECT_B},
    ]
    answers = [create(toy, **other) for other in others]
    assert codes(answers) == {202: 3}
    assert {answer.json["stone"]["id"] for answer in answers} == stones(toy)
    assert len(stones(toy)) == 3
    for answer, other in zip(answers, others, strict=True):
        assert create(toy, **other).json == answer.json


@pytest.mark.parametrize("key", ["", "x" * 256, "a\tb", "caf\u00e9"], ids=["empty", "long", "control", "no-ascii"])
def test_what_is_no_key_is_refused(toy: Toy, key: str) -> None:
    answer = create(toy, key)
    assert answer.status_code == 400
    assert "1 to 255 printable ASCII characters" in answer.text
    assert stones(toy) == set()


@pytest.mark.parametrize("key", ["x" * 255, '"8e03978e-40d5-43dd-bc93-6894a57f9324"', "a b"])
def test_what_is_a_key(toy: Toy, key: str) -> None:
    assert create(toy, key).json == create(toy, key).json


def test_a_refusal_leaves_the_key_free(toy: Toy) -> None:
    assert create(toy, body={"stone": {"size": 0}}).status_code == 400
    assert create(toy, who="reader_a").status_code == 403
    assert create(toy).status_code == 202
    assert len(stones(toy)) == 1


def test_who_may_do_it_no_more_gets_no_answer_again(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    first = create(toy)
    with monkeypatch.context() as patched:
        patched.setattr(toy.policy, "authorize", lambda _context, rule, _target: rule != "stone:create")
        again = create(toy)
    assert again.status_code == 403
    assert first.json["stone"]["id"] not in again.text
    assert create(toy).json == first.json


@pytest.mark.parametrize("value", [b'"\xff"', b"1e999", b"NaN"], ids=["no-text", "no-number", "no-json"])
def test_what_no_shape_looks_at_is_compared_too(toy: Toy, value: bytes) -> None:
    answer = create(toy, body=b'{"stone": {"size": 1}, "passed over": ' + value + b"}")
    assert answer.status_code == 400
    assert stones(toy) == set()


def test_what_was_made_and_deleted_is_not_made_again(toy: Toy) -> None:
    first = create(toy)
    assert toy.call("DELETE", f"/stones/{first.json['stone']['id']}").status_code == 204
    assert create(toy).json == first.json
    assert stones(toy) == set()


def test_of_many_at_once_one_is_done_and_all_are_answered(toy: Toy) -> None:
    answers = at_once(12, lambda _: create(toy))
    assert codes(answers) == {202: 12}
    assert {answer.json["stone"]["id"] for answer in answers} == stones(toy)
    assert len(stones(toy)) == 1
    assert sum(REPLAYED in answer.headers for answer in answers) == 11


def test_a_commit_whose_answer_is_lost_is_done_once(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = toy.db.engine.dialect.do_commit

    def lost(connection: Any) -> None:
        monkeypatch.undo()
        commit(connection)
        raise db_errors.DBConnectionError

    monkeypatch.setattr(toy.db.engine.dialect, "do_commit", lost)
    first = create(toy)
    assert first.status_code == 202
    assert REPLAYED not in first.headers
    assert stones(toy) == {first.json["stone"]["id"]}
    assert create(toy).json == first.json


def test_who_is_not_told_the_answer_yet_may_try_again(tmp_path: Path) -> None:
    """Another node of the database has accepted the request."""
    toy = Toy(tmp_path, DIALECT, [Route("POST", "/stones", raising(Repeated()), "", body=CreateStone, creates=True)])
    answer = create(toy)
    assert answer.status_code == 409
    assert "try again" in answer.text


def test_where_nothing_is_added_a_key_has_no_say(toy: Toy) -> None:
    stone = toy.add()
    path = f"/v3/{PROJECT_A}/stones/{stone.id}/action"
    for size in (2, 3):
        headers = {"X-Test-Identity": "member_a", "Idempotency-Key": "k" * 300}
        answer = toy.client.simulate_post(path, json={"cut": {"new_size": size}}, headers=headers)
        assert (answer.status_code, answer.json["cut"]) == (202, size)
