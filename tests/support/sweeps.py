"""Sweeps over a whole route table: what must hold for every row, whatever it does.

Each function returns what is wrong as a list of lines; a test asserts that the list is empty. They speak through
a `Call`, so the table may be served in process or by any endpoint.

    call(method, path, version="3.5", body=..., **asking) -> answer with status_code and text

`asking` is what the sweep hands through: who asks, the project in the path. `bodies` are those that a shape does not
tell: "PUT /attachments/{id}" (for an action, "POST /volumes/{id}/action key" and the value under the key) -> body.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pumice.kernel.api import shapes
from pumice.kernel.api.openapi import schemas_of
from pumice.kernel.api.routes import Route
from pumice.kernel.api.versions import Dialect, Version

Call = Callable[..., Any]
Bodies = Mapping[str, Any]
NONE: Bodies = {}
NOBODYS_ID = "0b2d5a64-7c4c-4a0e-9a6a-0d3f3c7c1a11"

_VARIABLE = re.compile(r"\{(\w+)\}")
_EXAMPLES = (NOBODYS_ID, "a", "1", "50%", "2026-01-02T03:04:05", "host@backend#pool", "/dev/vdb", "{}")


def every_route_at_every_boundary(
    call: Call, table: Sequence[Route], dialect: Dialect, *, near: bool = False, bodies: Bodies = NONE, **asking: Any
) -> list[str]:
    """Each route exists exactly within its versions, and fails nowhere: at each version at which anything in the
    table begins or ends, the one before and the one after. Ids are nobody's and bodies minimal.

    :param near: only where a row of the same path begins or ends, and at the first and the last version
    """
    wrong = []
    for route in table:
        others = [one for one in table if one.path == route.path] if near else table
        for version in boundaries(others, dialect):
            answer = call(
                route.method, fill(route.path), version=str(version), body=body_of(route, version, bodies), **asking
            )
            wanted = any(exists(one, version) for one in table if _same_request(route, one))
            if answer.status_code >= 500 or _is_missing(route, answer) is wanted:
                wrong.append(_line(route, version, answer))
    return wrong


def every_optional_key_as_null(
    call: Call,
    table: Sequence[Route],
    version: Version,
    ids: Callable[[], Mapping[str, str]] = dict,
    *,
    bodies: Bodies = NONE,
    **asking: Any,
) -> list[str]:
    """A body with a null, or with a value of the wrong kind, in any place is taken or refused with a 4xx.

    :param ids: makes what the paths name (see `fill`); asked for again after each body that was taken, as the object
        may be gone or changed by then
    """
    wrong = []
    for route in table:
        if route.body is None or not version.within(route.since, route.until):
            continue
        path = fill(route.path, ids())
        for sent in damaged(body_of(route, version, bodies)):
            answer = call(route.method, path, version=str(version), body=sent, **asking)
            if answer.status_code >= 500:
                wrong.append(f"{_line(route, version, answer)} for {sent}")
            if answer.status_code < 300:
                path = fill(route.path, ids())
    return wrong


def every_route_as_a_stranger(
    call: Call,
    table: Sequence[Route],
    version: Version,
    ids: Mapping[str, str],
    *,
    bodies: Bodies = NONE,
    **asking: Any,
) -> list[str]:
    """With the ids of another project's objects, every route that names one answers 404 (403 where only admins
    may), and no answer at all holds one of these ids.

    :param ids: of objects that belong to somebody else (see `fill`)
    """
    wrong = []
    for route in table:
        if not version.within(route.since, route.until):
            continue
        answer = call(
            route.method, fill(route.path, ids), version=str(version), body=body_of(route, version, bodies), **asking
        )
        names_object = bool(_VARIABLE.search(route.path)) and route.path.split("/")[1] in ids
        refused = answer.status_code in ({404, 403} if names_object else range(500))
        told = [one for one in ids.values() if answer.status_code < 400 and one in answer.text]
        if not refused or told:
            wrong.append(_line(route, version, answer))
    return wrong


def boundaries(table: Iterable[Route], dialect: Dialect) -> list[Version]:
    """The versions at which the table changes, with their neighbours, within what the dialect serves."""
    named = {dialect.minimum, dialect.maximum}
    for route in table:
        named |= {Version.parse(text) for text in (route.since, route.until, route.experimental_until) if text}
    near = {Version(one.major, one.minor + step) for one in named for step in (-1, 0, 1) if one.minor + step >= 0}
    return sorted(one for one in near if dialect.minimum <= one <= dialect.maximum)


def fill(path: str, ids: Mapping[str, str] = NONE) -> str:
    """The path with an id for each of its variables, nobody's where none is known.

    :param ids: first part of a path ("volumes") -> id of an object there, for all variables but those that are
        named themselves ("{key}")
    """
    own = ids.get(path.split("/")[1], NOBODYS_ID)
    return _VARIABLE.sub(lambda found: ids.get(found[0], own), path)


def minimal(body: Any, version: Version) -> Any:
    """A body that a shape takes at a version, with every key that it knows there."""
    (schema,), components = schemas_of([shapes.at(body, version)])
    return _example(schema, components)


def body_of(route: Route, version: Version, bodies: Bodies = NONE) -> Any:
    """What to send to a route, that its shape takes."""
    name = name_of(route)
    inner = None if route.body is None else bodies[name] if name in bodies else minimal(route.body, version)
    return {route.action: inner} if route.action else inner


def name_of(route: Route) -> str:
    """A row as `bodies` name it."""
    return f"{route.method} {route.path} {route.action}".rstrip()


def damaged(value: Any) -> Iterator[Any]:
    """The value with each of its parts replaced by null and by values of other kinds, and with each key left out."""
    for path in _paths(value):
        kinds: tuple[Any, ...] = (None, {}, [], "", 0, -1, True, "x" * 300, 10**30)
        for other in kinds:
            yield _with(value, path, other)
        if path and isinstance(path[-1], str):
            yield _with(value, path, ...)


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    yield ()
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from ((key, *rest) for rest in _paths(one))


def _with(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    if not path:
        return other
    changed = copy.deepcopy(value)
    place = changed
    for key in path[:-1]:
        place = place[key]
    if other is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = other
    return changed


def _example(schema: Mapping[str, Any], components: Mapping[str, Any]) -> Any:  # noqa: PLR0911  # one for each kind
    if "$ref" in schema:
        return _example(components[schema["$ref"].rsplit("/", 1)[1]], components)
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return next(one for part in schema["anyOf"] if (one := _example(part, components)) is not None)
    kind = schema.get("type")
    if kind == "object":
        properties = schema.get("properties")
        if properties is None:  # any keys: one of them
            other = schema.get("additionalProperties")
            return {"a": (_example(other, components) if isinstance(other, dict) else None) or "a"}
        return {key: _example(one, components) for key, one in properties.items()}
    if kind == "array":
        return [_example(schema["items"], components)] if "items" in schema else []
    if kind == "string":
        return _text(schema)
    return {"integer": max(1, schema.get("minimum", 1)), "number": 1.5, "boolean": False}.get(str(kind))


def _text(schema: Mapping[str, Any]) -> str:
    if schema.get("format") == "uuid":
        return NOBODYS_ID
    pattern = re.compile(schema.get("pattern", ""))
    return next((one for one in _EXAMPLES if pattern.search(one)), "a" * max(1, schema.get("minLength", 1)))


def _same_request(route: Route, other: Route) -> bool:
    return (route.method, route.path, route.action) == (other.method, other.path, other.action)


def exists(route: Route, version: Version) -> bool:
    tried = route.experimental_until and version <= route.experimental_until
    return version.within(route.since, route.until) and not tried


def _is_missing(route: Route, answer: Any) -> bool:
    """Whether the answer says that there is no such route (and not that there is no such object)."""
    if answer.status_code == 404:
        told = f"the action {route.action} " if route.action and "the action" in answer.text else f"{route.method} "
        return told in answer.text and "does not exist" in answer.text
    return bool(route.action) and answer.status_code == 400 and "one action is expected" in answer.text


def _line(route: Route, version: Version, answer: Any) -> str:
    return f"{route.method} {route.path} {route.action} at {version}: {answer.status_code} {answer.text[:300]}"
