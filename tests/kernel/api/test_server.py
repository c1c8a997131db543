"""The application behind a real server, for what a test client cannot send."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator

import pytest
from cheroot.wsgi import Server

from tests.kernel.api.toy import Toy
from tests.support.identity import PROJECT_A, Identity

STONES = f"/v3/{PROJECT_A}/stones"
HEADERS = {"Content-Type": "application/json", "OpenStack-API-Version": "volume 3.71"}


@pytest.fixture
def connection(toy: Toy) -> Iterator[http.client.HTTPConnection]:
    server = Server(("127.0.0.1", 0), Identity(toy.app), numthreads=2)
    server.prepare()
    thread = threading.Thread(target=server.serve)
    thread.start()
    client = http.client.HTTPConnection("127.0.0.1", server.bind_addr[1], timeout=60)
    try:
        yield client
    finally:
        client.close()
        server.stop()
        thread.join(60)


def test_a_chunked_body(connection: http.client.HTTPConnection) -> None:
    chunks = iter([b'{"stone": ', b'{"size": 3}}'])
    connection.request("POST", STONES, body=chunks, headers=HEADERS, encode_chunked=True)
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["stone"]["size"]) == (202, 3)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_too_large_is_answered_and_the_server_goes_on(
    connection: http.client.HTTPConnection, chunked: bool
) -> None:
    body = b'{"stone": "' + b"x" * 300_000 + b'"}'
    connection.request("POST", STONES, body=iter([body]) if chunked else body, headers=HEADERS, encode_chunked=chunked)
    answer = connection.getresponse()
    assert (answer.status, list(json.loads(answer.read()))) == (413, ["overLimit"])
    connection.close()
    connection.request("GET", STONES, headers=HEADERS)
    assert connection.getresponse().status == 200


def test_answers_without_a_body_leave_the_connection_usable(connection: http.client.HTTPConnection, toy: Toy) -> None:
    stone = toy.add()
    connection.request("DELETE", f"{STONES}/{stone.id}", headers=HEADERS)
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (204, b"")
    connection.request("GET", f"{STONES}/%C3%A9%2F", headers=HEADERS)
    answer = connection.getresponse()
    assert answer.status == 404
    assert answer.getheader("Vary") == "OpenStack-API-Version"
