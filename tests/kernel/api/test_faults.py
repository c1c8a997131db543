from __future__ import annotations

import logging

import pytest
from oslo_db.exception import DBConnectionError

from pumice.kernel import errors
from pumice.kernel.api.faults import fault_body
from tests.kernel.api.toy import Toy


def test_an_error_is_answered_with_its_fault_and_headers(toy: Toy) -> None:
    answer = toy.call("GET", "/conflict")
    assert answer.json == {"conflictingRequest": {"code": 409, "message": "it is taken"}}
    assert (answer.status_code, answer.headers["X-Why"]) == (409, "taken")
    assert answer.headers["Content-Type"] == "application/json"
    assert toy.call("GET", "/over").json == {"overLimit": {"code": 413, "message": "too many", "retryAfter": "0"}}
    assert toy.call("GET", "/fault").json == {"computeFault": {"code": 500, "message": "the quarry is closed"}}


def test_what_was_not_expected_is_logged_and_not_told(toy: Toy, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        answer = toy.call("GET", "/bug?secret=s3cret")
    [(key, inner)] = answer.json.items()
    assert (answer.status_code, key, inner["code"]) == (500, "computeFault", 500)
    assert "hunter2" not in answer.text
    assert "Traceback" not in answer.text
    [record] = caplog.records
    assert answer.headers["x-openstack-request-id"] in record.getMessage()
    assert "s3cret" not in record.getMessage()
    assert record.exc_info


@pytest.mark.parametrize(
    ("error", "status", "key"),
    [
        (errors.BadRequest, 400, "badRequest"),
        (errors.Unauthorized, 401, "unauthorized"),
        (errors.Forbidden, 403, "forbidden"),
        (errors.NotFound, 404, "itemNotFound"),
        (errors.MethodNotAllowed, 405, "badMethod"),
        (errors.NotAcceptable, 406, "computeFault"),
        (errors.Conflict, 409, "conflictingRequest"),
        (errors.PreconditionFailed, 412, "computeFault"),
        (errors.UnsupportedMediaType, 415, "badMediaType"),
        (errors.ServerFault, 500, "computeFault"),
        (errors.ServiceUnavailable, 503, "serviceUnavailable"),
    ],
)
def test_each_status_has_its_key(error: type[errors.ApiError], status: int, key: str) -> None:
    assert fault_body(error("why")) == f'{{"{key}":{{"code":{status},"message":"why"}}}}'.encode()


def test_what_the_server_below_refuses_is_a_fault_too(toy: Toy) -> None:
    answer = toy.call("GET", "/stones?limit=%zz&a=%FF")
    assert (answer.status_code, list(answer.json)) == (400, ["badRequest"])


def test_a_database_that_is_away_is_a_passing_trouble(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise DBConnectionError

    monkeypatch.setattr(toy.db, "read", away)
    answer = toy.call("GET", "/stones")
    assert (answer.status_code, list(answer.json)) == (503, ["serviceUnavailable"])
    assert answer.headers["Retry-After"] == "1"
