"""The runner finds what is wrong: scenarios against a world whose answers are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract import scenarios
from tests.contract.scenarios import APIS, Answer, Scenario, read, run

RIGHT = {"thing": {"id": "1", "size": 1, "links": [{"rel": "self"}]}}


class Told:
    """A world that answers every request alike; from 3.5 on with one key more."""

    def __init__(self, body: Any = RIGHT, status: int = 200) -> None:
        self.names = {"project_a": "a"}
        self.asked: list[str] = []
        self._body, self._status = body, status

    def send(self, method: str, path: str, *, headers: dict[str, str], **_more: Any) -> Answer:
        version = headers.get("OpenStack-API-Version", "none").removeprefix("volume 3.")
        self.asked.append(f"{method} {path} {version}")
        body = self._body
        if self._status == 200 and version.isdecimal() and int(version) >= 5:
            body = {"thing": {**body["thing"], "new": None}}
        return Answer(self._status, {"x-openstack-request-id": "req-1"}, body, json.dumps(body))

    def dial(self, call: str, fault: dict[str, Any]) -> None:
        self.asked.append(f"{call} {fault}")

    def undial(self) -> None:
        self.asked.append("undial")

    def backend(self, call: str, values: dict[str, Any]) -> None:
        self.asked.append(f"{call} {values}")


def scenario(*steps: dict[str, Any]) -> Scenario:
    return Scenario(APIS["block"], "file", "scenario", steps)


GET = {"ask": "GET /things/$project_a"}


@pytest.mark.parametrize(
    "step",
    [
        GET,
        {**GET, "has": {"thing.size": 1, "thing.links[].rel": ["self"], "thing.id": "/[0-9]/", "thing.none": None}},
        {**GET, "keys": {"thing": ["id", "size", "links", "new"]}},
        {**GET, "at": "3.4", "answers": RIGHT},
        {**GET, "keys": {"thing": {"3.0": ["id", "size", "links"], "3.5": ["new"]}}},
        {**GET, "until": {"thing.size": 1}},
    ],
)
def test_what_is_right(step: dict[str, Any]) -> None:
    run(scenario(step), Told())


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ({**GET, "status": 404}, "200 instead of 404"),
        ({**GET, "has": {"thing.size": "1"}}, "thing.size is 1 and not '1'"),
        ({**GET, "has": {"thing.size": True}}, "thing.size is 1 and not True"),
        ({**GET, "has": {"thing.id": "/[a-z]/"}}, "thing.id is '1'"),
        ({**GET, "keys": {"thing": ["id", "size", "links", "old"]}}, r"misses \['old'\] and has \['new'\]"),
        ({**GET, "keys": {"thing": {"3.0": ["id", "size", "links"], "3.6": ["new"]}}}, "at 3.5 misses"),
        ({**GET, "keys": {"thing": {"3.0": ["id", "size", "links", "new"]}}}, "at 3.0 misses"),
        ({**GET, "answers": {}}, "thing"),
        ({**GET, "answer_headers": {"Etag": "/.+/"}}, "header Etag is None"),
        ({**GET, "save": {"id": "thing.number"}}, "there is no thing.number"),
    ],
)
def test_what_is_wrong(step: dict[str, Any], reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        run(scenario(step), Told())


def test_waiting_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenarios, "PATIENCE", 0.05)
    with pytest.raises(AssertionError, match="is 1 and not 2"):
        run(scenario({**GET, "until": {"thing.size": 2}}), Told())


def test_what_an_answer_cannot_be_asked_yet_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenarios, "PATIENCE", 0.05)
    unfit = {"length(thing.none)": 2}  # of null there is no length
    with pytest.raises(AssertionError, match=r"length\(thing.none\)"):
        run(scenario({**GET, "until": unfit}), Told())
    with pytest.raises(AssertionError, match=r"length\(thing.none\)"):
        run(scenario({**GET, "has": unfit}), Told())


def test_what_a_scenario_has_changed_is_taken_back_also_after_a_failure() -> None:
    world = Told()
    steps = [
        {"ask": "PUT /first", "after": {"ask": "DELETE /first"}},
        {"ask": "PUT /second", "status": 202, "after": {"ask": "DELETE /second"}},
        {"ask": "PUT /third", "after": {"ask": "DELETE /third"}},
    ]
    with pytest.raises(AssertionError, match="step 2"):
        run(scenario(*steps), world)
    assert world.asked == ["PUT /first 71", "PUT /second 71", "undial", "DELETE /second 71", "DELETE /first 71"]


@pytest.mark.parametrize(
    "body",
    [
        {"itemNotFound": {"code": 400, "message": "m"}},
        {"badRequest": {"code": 404, "message": "m"}},
        {"itemNotFound": {"code": 404, "message": ""}},
        {"itemNotFound": {"code": 404, "message": "m"}, "more": 1},
    ],
)
def test_faults_have_their_shape(body: Any) -> None:
    with pytest.raises(AssertionError):
        run(scenario({**GET, "status": 404}), Told(body, 404))


def test_names_are_saved_and_filled_in() -> None:
    world = Told()
    steps = [
        {**GET, "save": {"thing": "thing.id"}},
        {"ask": "GET /things/$thing"},
        {"dial": {"call": {"match": "$thing"}}},
    ]
    run(scenario(*steps), world)
    assert world.asked == ["GET /things/a 71", "GET /things/1 71", "call {'match': '1'}", "undial"]


def test_a_change_is_sent_only_around_the_named_versions() -> None:
    world = Told()
    keys = {"thing": {"3.0": ["id", "size", "links"], "3.5": ["new"]}}
    run(scenario({"ask": "PUT /things", "keys": keys}), world)
    assert [int(line.rsplit(" ", 1)[1]) for line in world.asked[:-1]] == [0, 4, 5, 71, 71]


def test_keys_come_and_go_with_versions() -> None:
    changes = {"3.0": ["a", "b"], "3.9": ["c", "-a"], "3.10": ["-b"]}
    assert [sorted(scenarios._keys_at(changes, minor)) for minor in (8, 9, 10)] == [["a", "b"], ["b", "c"], ["c"]]


def test_reading_files(tmp_path: Path) -> None:
    folder = tmp_path / "block"
    folder.mkdir()
    (folder / "common.yaml").write_text(".common:\n  make: &make {ask: POST /things}\n")
    file = folder / "things.yaml"
    file.write_text(
        "One:\n  - *make\n  - [{ask: GET /a, at: 3.10}]\n  - {ask: GET /b, each: [{at: 3.1}, {at: none}]}\n"
        "Two:\n  ours: true\n  steps:\n    - dial: {call: {fail: on}}\n"
        "Three:\n  - backend: {lose: {id: $thing}}\n"
    )
    one, two, three = read(file).scenarios
    assert [step.get("at") for step in one.steps] == [None, "3.10", "3.1", "none"]
    assert (one.ours, one.inside, two.ours, two.inside) == (False, False, True, True)
    assert three.inside
    assert two.steps[0]["dial"] == {"call": {"fail": "on"}}
    file.write_text("One:\n  - {aks: GET /a}\n")
    with pytest.raises(ValueError, match="aks"):
        read(file)
