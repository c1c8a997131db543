"""The contracts of both APIs as data: YAML files of scenarios, each a list of steps.

How the files read is told in docs/contributing/contract-tests.md.
"""

from __future__ import annotations

import re
import string
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import jmespath
import yaml

DATA = Path(__file__).parent / "data"
COMMON = "common.yaml"
PATIENCE = 60.0
"""Seconds until what `until` waits for must have come."""

FAULTS = {
    400: "badRequest",
    403: "forbidden",
    404: "itemNotFound",
    405: "badMethod",
    409: "conflictingRequest",
    413: "overLimit",
    415: "badMediaType",
    501: "notImplemented",
    503: "serviceUnavailable",
}


@dataclass(frozen=True, slots=True)
class Api:
    """How requests to one of the services are made.

    :param name: the folder of its files
    :param major: of all its versions; `latest` is the newest minor one
    :param base: the first part of its paths
    :param header: names the version of a request, with `word` before it
    """

    name: str
    major: int
    latest: int
    base: str
    header: str
    word: str = ""

    def version(self, minor: int) -> str:
        return f"{self.major}.{minor}"

    @property
    def newest(self) -> str:
        return self.version(self.latest)

    def asking(self, version: str) -> dict[str, str]:
        """The headers that ask for a version, or whose value is what stands for one; none for "none"."""
        return {} if version == "none" else {self.header: version if " " in version else self.word + version}


APIS = {
    "block": Api("block", 3, 71, "/v3", "OpenStack-API-Version", "volume "),
    "share": Api("share", 2, 99, "/v2", "X-OpenStack-Manila-API-Version"),
}
NAMES = {"nobodys": "0b2d5a64-7c4c-4a0e-9a6a-0d3f3c7c1a11", "long": "x" * 256}
"""What every scenario may say as $name, beside the ids of projects and users: an id that nothing has, and text that
is longer than any name may be."""
STEP_KEYS = {
    "ask",
    "who",
    "at",
    "headers",
    "body",
    "raw",
    "status",
    "has",
    "keys",
    "until",
    "answers",
    "answer_headers",
    "save",
    "save_headers",
    "each",
    "dial",
    "undial",
    "backend",
    "after",
}
_INSIDE = {"dial", "backend"}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: Any
    text: str


class World(Protocol):
    """Where the requests go."""

    names: dict[str, str]
    """$name -> id, of projects and users."""

    def send(
        self, method: str, path: str, *, who: str, headers: dict[str, str], body: Any = None, raw: str | None = None
    ) -> Answer: ...

    def dial(self, call: str, fault: dict[str, Any]) -> None: ...

    def undial(self) -> None: ...

    def backend(self, call: str, values: dict[str, Any]) -> None:
        """Do something to the simulated backend behind the service's back."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """:param ours: about an extension that only Pumice has
    :param inside: needs what only a service in this process gives: faults of the backend, options, other people
    """

    api: Api
    file: str
    name: str
    steps: Sequence[dict[str, Any]]
    ours: bool = False
    inside: bool = False


@dataclass(slots=True)
class File:
    api: Api
    name: str
    options: dict[str, Any] = field(default_factory=dict)
    backends: dict[str, dict[str, Any]] | None = None
    scenarios: list[Scenario] = field(default_factory=list)


class _Loader(yaml.SafeLoader):
    """YAML whose `3.10` is text, and whose only booleans are true and false."""


_PLAIN = {"tag:yaml.org,2002:float", "tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool"}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _PLAIN]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"true|false"), list("tf"))


def read(path: Path) -> File:
    """Read a file in the folder of its API; the anchors of common.yaml there are known in it."""
    api = APIS[path.parent.name]
    text = (path.parent / COMMON).read_text() + path.read_text()
    loader = _Loader(text)
    try:
        content = loader.get_single_data()
    finally:
        loader.dispose()
    file = File(api, path.stem, content.pop("options", {}), content.pop("backends", None))
    inside = bool(file.options or file.backends)
    for name, value in content.items():
        if name.startswith("."):
            continue
        given = value if isinstance(value, dict) else {"steps": value}
        steps = list(_flat(given.pop("steps")))
        given["inside"] = inside or given.get("inside", False) or any(_INSIDE & step.keys() for step in steps)
        file.scenarios.append(Scenario(api, path.stem, name, steps, **given))
    return file


def _flat(steps: Sequence[Any]) -> Iterator[dict[str, Any]]:
    for step in steps:
        if isinstance(step, list):
            yield from _flat(step)
            continue
        if unknown := step.keys() - STEP_KEYS:
            raise ValueError(f"no such words in a step: {', '.join(sorted(unknown))}")
        common = {key: value for key, value in step.items() if key != "each"}
        yield from ({**common, **one} for one in step.get("each", [{}]))


def run(scenario: Scenario, world: World) -> None:
    """:raises AssertionError: an answer is not as the scenario says; the text names step and answer"""
    known = {**NAMES, **world.names, "file": scenario.file, "scenario": scenario.name[:100]}
    afterwards: list[dict[str, Any]] = []
    try:
        for number, step in enumerate(scenario.steps, 1):
            if "after" in step:
                afterwards.append(step["after"])
            try:
                _step(scenario.api, step, world, known)
            except AssertionError as error:
                told = {key: value for key, value in step.items() if key != "keys"}
                raise AssertionError(f"step {number}, {told}:\n{error}") from None
    finally:
        world.undial()
        for request in reversed(afterwards):
            _ask(scenario.api, request, world, known)


def _step(api: Api, step: dict[str, Any], world: World, known: dict[str, str]) -> None:
    for call, fault in fill(step.get("dial", {}), known).items():
        world.dial(call, fault)
    if step.get("undial"):
        world.undial()
    for call, values in fill(step.get("backend", {}), known).items():
        world.backend(call, values)
    if "ask" not in step:
        return
    versions = step.get("keys", {})
    by_version = {place: keys for place, keys in versions.items() if isinstance(keys, dict)}
    if by_version:
        _keys_by_version(api, step, world, known, by_version)
    answer = _ask(api, step, world, known)
    if "until" in step:
        end = time.monotonic() + PATIENCE
        while _differences(step["until"], answer, known, strict=False) and time.monotonic() < end:
            time.sleep(0.01)
            answer = _ask(api, step, world, known)
    _check(step, answer, known)
    for name, where in step.get("save", {}).items():
        known[name] = _search(where, answer)
        assert known[name] is not None, f"there is no {where} to be saved in {answer.text[:2000]}"
    for name, header in step.get("save_headers", {}).items():
        known[name] = answer.headers[header.lower()]


def _ask(api: Api, step: dict[str, Any], world: World, known: Mapping[str, str], at: str | None = None) -> Answer:
    method, path = fill(step["ask"], known).split(" ", 1)
    headers = api.asking(at or str(step.get("at", api.newest))) | fill(step.get("headers", {}), known)
    body, raw = fill(step.get("body"), known), step.get("raw")
    return world.send(method, path, who=step.get("who", "member_a"), headers=headers, body=body, raw=raw)


def _check(step: dict[str, Any], answer: Answer, known: Mapping[str, str]) -> None:
    expected = step.get("status", 200)
    assert answer.status == expected, f"{answer.status} instead of {expected}: {answer.text[:2000]}"
    # Without a token it is Keystone's middleware that answers.
    assert expected == 401 or answer.headers.get("x-openstack-request-id", "").startswith("req-"), "no request id"
    if expected >= 400 and expected != 401 and answer.text:
        key = FAULTS.get(expected, "computeFault")
        assert list(answer.body or ()) == [key], f"{key} is not the one key of {answer.text[:2000]}"
        assert answer.body[key]["code"] == expected
        assert answer.body[key]["message"]
    wrong = _differences(step.get("has", {}) | step.get("until", {}), answer, known)
    assert not wrong, "\n".join([*wrong, answer.text[:4000]])
    if "answers" in step:
        assert answer.body == fill(step["answers"], known), answer.text[:4000]
    for header, value in fill(step.get("answer_headers", {}), known).items():
        found = answer.headers.get(header.lower())
        assert _matches(value, found), f"header {header} is {found!r} and not {value!r}"
    for where, keys in step.get("keys", {}).items():
        if isinstance(keys, list):
            _check_keys(where, set(keys), answer)


def _differences(
    expected: Mapping[str, Any], answer: Answer, known: Mapping[str, str], *, strict: bool = True
) -> list[str]:
    """What of the answer is not as expected.

    :param strict: raise where an expression cannot be applied to the answer; else that is a difference, too
    """
    wrong = []
    for where, value in fill(dict(expected), known).items():
        try:
            found = _search(where, answer)
        except jmespath.exceptions.JMESPathError as error:
            if strict:
                raise AssertionError(f"{where}: {error}") from error
            wrong.append(f"{where}: {error}")
            continue
        if not _matches(value, found):
            wrong.append(f"{where} is {found!r} and not {value!r}")
    return wrong


def _matches(expected: Any, found: Any) -> bool:
    if isinstance(expected, str) and len(expected) > 1 and expected[0] == expected[-1] == "/":
        return found is not None and re.fullmatch(expected[1:-1], str(found), re.DOTALL) is not None
    return bool(expected == found) and isinstance(expected, bool) is isinstance(found, bool)


def _search(where: str, answer: Answer) -> Any:
    return jmespath.search(where, answer.body)


def _check_keys(where: str, keys: set[str], answer: Answer, note: str = "") -> None:
    found = _search(where, answer)
    assert isinstance(found, dict), f"{where} is no object{note}: {answer.text[:2000]}"
    missing, extra = sorted(keys - found.keys()), sorted(found.keys() - keys)
    if missing or extra:
        raise AssertionError(f"{where}{note} misses {missing} and has {extra} besides")


def _keys_by_version(
    api: Api,
    step: dict[str, Any],
    world: World,
    known: Mapping[str, str],
    places: Mapping[str, Mapping[str, Sequence[str]]],
) -> None:
    """The key sets at every version from the first named one on; requests that change something are sent only
    at the versions named and right before them."""
    named = sorted({_minor(version) for changes in places.values() for version in changes})
    last = _minor(str(step.get("at", api.newest)))
    every = range(named[0], last + 1)
    near = [minor for minor in every if minor in named or minor + 1 in named or minor == last]
    for minor in every if step["ask"].startswith("GET ") else near:
        version = api.version(minor)
        answer = _ask(api, step, world, known, version)
        assert answer.status == step.get("status", 200), f"{answer.status} at {version}: {answer.text[:2000]}"
        for where, changes in places.items():
            _check_keys(where, _keys_at(changes, minor), answer, f" at {version}")


def _keys_at(changes: Mapping[str, Sequence[str]], minor: int) -> set[str]:
    keys: set[str] = set()
    for version in sorted(changes, key=_minor):
        if _minor(version) <= minor:
            gone = {name[1:] for name in changes[version] if name.startswith("-")}
            keys = (keys | set(changes[version])) - gone - {f"-{name}" for name in gone}
    return keys


def _minor(version: str) -> int:
    return int(version.partition(".")[2])


def fill(value: Any, known: Mapping[str, Any]) -> Any:
    """The value with its $names replaced; "$name" alone may stand for something else than text."""
    if isinstance(value, dict):
        return {fill(key, known): fill(one, known) for key, one in value.items()}
    if isinstance(value, list):
        return [fill(one, known) for one in value]
    if not isinstance(value, str) or "$" not in value:
        return value
    if value[1:] in known:
        return known[value[1:]]
    return string.Template(value).substitute(known)
