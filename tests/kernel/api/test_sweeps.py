"""The sweeps find what they look for, and nothing in a table that is right."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from pumice.kernel.api.routes import Route
from pumice.kernel.api.versions import Version
from tests.kernel.api.toy import DIALECT, TABLE, CreateStone, Toy
from tests.support import sweeps
from tests.support.identity import PROJECT_B

NEWEST = Version(3, 71)
FAILING = {"/bug", "/fault"}
SOUND = [route for route in TABLE if route.path not in FAILING]


def test_boundaries() -> None:
    versions = sweeps.boundaries(TABLE, DIALECT)
    assert [str(one) for one in versions] == (
        ["3.0", "3.1", "3.8", "3.9", "3.10", "3.11", "3.19", "3.20", "3.21", "3.39", "3.40", "3.41", "3.70", "3.71"]
    )


def test_minimal_bodies_are_taken(toy: Toy) -> None:
    for version in ("3.0", "3.13", "3.53", "3.71"):
        body = sweeps.minimal(CreateStone, Version.parse(version))
        assert ("quarry_id" in body["stone"]) is (version != "3.0")
        assert toy.call("POST", "/stones", version=version, body=body).status_code == 202


def test_damaged_bodies() -> None:
    bodies = list(sweeps.damaged({"a": {"b": [1]}}))
    parts: tuple[Any, ...] = (
        None,
        {},
        {"a": None},
        {"a": {}},
        {"a": {"b": None}},
        {"a": {"b": []}},
        {"a": {"b": [None]}},
    )
    for one in parts:
        assert one in bodies


def test_a_sound_table(toy: Toy) -> None:
    stone = toy.add()
    assert sweeps.every_route_at_every_boundary(toy.call, SOUND, DIALECT) == []
    assert sweeps.every_route_at_every_boundary(toy.call, SOUND, DIALECT, who="admin_a") == []
    for version in (DIALECT.minimum, NEWEST):
        assert sweeps.every_optional_key_as_null(toy.call, SOUND, version) == []
    ids = {"stones": stone.id}
    stranger: dict[str, Any] = {"who": "member_b", "project": PROJECT_B}
    assert sweeps.every_route_as_a_stranger(toy.call, SOUND, NEWEST, ids, **stranger) == []


def test_a_route_at_the_wrong_versions_is_found(toy: Toy) -> None:
    late = next(route for route in TABLE if route.path == "/late")
    throw = next(route for route in TABLE if route.action == "throw")
    for route in (late, throw):
        for version in ("3.2", "3.69"):
            claimed = dataclasses.replace(route, since=version)
            assert sweeps.every_route_at_every_boundary(toy.call, [claimed], DIALECT, who="admin_a"), route.path


def test_failures_are_found(toy: Toy, tmp_path: Path) -> None:
    assert len(sweeps.every_route_at_every_boundary(toy.call, [TABLE[-1]], DIALECT)) == 4

    def careless(req: Any) -> Any:
        return {"name": req.body.stone.name.upper()}

    route = Route("POST", "/stones", careless, "", body=CreateStone)
    careless_toy = Toy(tmp_path, DIALECT, [route])
    found = sweeps.every_optional_key_as_null(careless_toy.call, [route], NEWEST)
    assert any("'name': None" in line for line in found)
    careless_toy.db.close()


def test_bodies_that_no_shape_tells(toy: Toy) -> None:
    sent: list[Any] = []

    def call(method: str, path: str, *, body: Any, **more: Any) -> Any:
        sent.append(body)
        return toy.call(method, path, body=body, **more)

    bodies = {"PUT /stones/{id}": {"stone": {"name": "given"}}, "POST /stones/{id}/action cut": {"new_size": 77}}
    assert sweeps.every_route_at_every_boundary(call, SOUND, DIALECT, bodies=bodies) == []
    assert {"stone": {"name": "given"}} in sent
    assert {"cut": {"new_size": 77}} in sent
    assert {"cut": {"new_size": 1}} not in sent


def test_what_a_stranger_sees_is_found(toy: Toy, tmp_path: Path) -> None:
    stone = toy.add()
    leaks = [
        Route("GET", "/stones/{id}", lambda req, **names: names, ""),
        Route("GET", "/stones", lambda req: {"ids": [stone.id]}, ""),
    ]
    leaky = Toy(tmp_path, DIALECT, leaks)
    found = sweeps.every_route_as_a_stranger(
        leaky.call, leaks, NEWEST, {"stones": stone.id}, who="member_b", project=PROJECT_B
    )
    assert len(found) == 2
    leaky.db.close()


@pytest.mark.parametrize("path", ["/stones/{id}/specs/{key}", "/stones"])
def test_fill(path: str) -> None:
    assert "{" not in sweeps.fill(path)
