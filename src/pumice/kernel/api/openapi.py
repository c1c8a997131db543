"""The OpenAPI document of a route table, at its newest version."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pumice.kernel.api import fields, shapes, views
from pumice.kernel.api.idempotency import HEADER, PATTERN
from pumice.kernel.api.routes import Route, Rule
from pumice.kernel.api.values import Value
from pumice.kernel.api.versions import Dialect, Version

_VARIABLE = re.compile(r"\{(\w+)\}")
_REF = "#/components/schemas/{name}"


def document(table: Sequence[Route], rules: Sequence[Rule], dialect: Dialect) -> dict[str, Any]:
    """OpenAPI 3.1 as JSON-able data: every path once, below the two servers (with and without project id)."""
    newest = [one for one in table if dialect.maximum.within(one.since, one.until)]
    types = {id(one): _types(one, dialect.maximum) for one in newest}
    flat = [type_ for body, answer in types.values() for type_ in (body, *answer.values()) if type_ is not None]
    schemas, components = schemas_of(flat)
    of = {id(type_): schema for type_, schema in zip(flat, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for route in newest:
        body, answer = types[id(route)]
        operation = _operation(route, of.get(id(body)), {key: of[id(one)] for key, one in answer.items()})
        for path in (route.path, *route.aliases):
            methods = paths.setdefault(path, {"parameters": _parameters(path, dialect)})
            _add(methods, route, operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": dialect.title, "version": str(dialect.maximum)},
        "servers": [
            {"url": f"{dialect.base}/{{project_id}}", "variables": {"project_id": {"default": "project"}}},
            {"url": dialect.base, "description": f"from version {dialect.project_optional_from} on"},
        ],
        "paths": paths,
        "components": {
            "schemas": components | {"Fault": _FAULT},
            "securitySchemes": {"token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}},
        },
        "security": [{"token": []}],
        "x-policy-rules": {one.name: {"check": one.check, "doc": one.doc} for one in rules},
    }


_FAULT = {
    "type": "object",
    "description": "One key that names the fault",
    "additionalProperties": {
        "type": "object",
        "properties": {
            "code": {"type": "integer"},
            "message": {"type": "string"},
            "retryAfter": {"type": "string"},
        },
        "required": ["code", "message"],
    },
}


_OF_ACTIONS = frozenset({"summary", "parameters", "x-policy", "x-since"})
"""What is told of an action by itself, where all actions of a path share one operation."""
_KEY = f"^{PATTERN}$"


def schemas_of(types: Sequence[Any]) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """The JSON Schemas of types (as `shapes.at` gives them), and the components that they refer to."""
    schemas, components = msgspec.json.schema_components(types, schema_hook=_schema_of, ref_template=_REF)
    for one in (*schemas, *components.values()):
        properties = one.get("properties", {})
        for key in [key for key in properties if shapes.is_gone(key)]:
            del properties[key]
    return schemas, components


def _types(route: Route, version: Version) -> tuple[Any, dict[str, Any]]:
    """The body's type and those of the answer's keys, as msgspec knows them."""
    body = shapes.at(route.body, version) if route.body else None
    return body, {key: _shown(one, version) for key, one in (route.answer or {}).items()}


@fields.cached
def _shown(type_: Any, version: Version) -> Any:
    """A type of views as the structs that have the views' keys."""
    inner = fields.bare(type_)
    if not (isinstance(inner, type) and issubclass(inner, views.View)):
        return fields.rebuilt(inner, lambda one: _shown(one, version))
    parts: list[Any] = []
    keys: dict[str, str] = {}
    for name, field in views.declared(inner).items():
        if not fields.exists(field, version):
            continue
        keys[name] = fields.wire_name(name, field)
        always = not (fields.annotation(field, views.OmitNone) or fields.annotation(field, views.Guarded))
        shown = _shown(field, version)
        parts.append((name, shown) if always else (name, shown, None))
    return msgspec.defstruct(inner.__name__, parts, rename=keys, kw_only=True, module=inner.__module__)


def _schema_of(type_: Any) -> dict[str, Any]:
    """The schema of what msgspec does not know: values with a converter."""
    value = getattr(type_, "value", None)
    return dict(value.schema) if isinstance(value, Value) else {}


def _parameters(path: str, dialect: Dialect) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in _VARIABLE.findall(path)
    ]
    example = f"{dialect.service} {dialect.maximum}" if dialect.header_names_service else str(dialect.maximum)
    return [
        *parameters,
        {"name": dialect.header, "in": "header", "schema": {"type": "string"}, "example": example},
    ]


def _operation(route: Route, body: Any, answer: Mapping[str, Any]) -> dict[str, Any]:
    rules = (route.policy,) if isinstance(route.policy, str) else route.policy
    content: dict[str, Any] = {}
    if answer:
        schema = {"type": "object", "properties": dict(answer), "required": sorted(answer)}
        content = {"content": {"application/json": {"schema": schema}}}
    fault = {"application/json": {"schema": {"$ref": _REF.format(name="Fault")}}}
    operation: dict[str, Any] = {
        "summary": route.doc,
        "responses": {
            str(route.success): {"description": "The answer", **content},
            "default": {"description": "A fault", "content": fault},
        },
        "x-policy": [one for one in rules if one],
        "x-since": route.since,
    }
    if route.creates:
        operation["parameters"] = [{"name": HEADER, "in": "header", "schema": {"type": "string", "pattern": _KEY}}]
    if body is not None and not route.action:
        operation["requestBody"] = _json(body)
    if route.action:
        operation["x-body"] = {
            "type": "object",
            "properties": {route.action: {} if body is None else body},
            "required": [route.action],
        }
    return operation


def _json(schema: Any) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _add(methods: dict[str, Any], route: Route, operation: dict[str, Any]) -> None:
    """Put an operation into its path. Actions share one operation: their bodies are alternatives."""
    method = route.method.lower()
    if not route.action:
        methods[method] = operation
        return
    own = {key: value for key, value in operation.items() if key != "x-body"}
    shared = methods.setdefault(
        method,
        {
            "summary": "Actions",
            "requestBody": _json({"oneOf": []}),
            "responses": {"default": own["responses"]["default"]},
            "x-actions": {},
        },
    )
    shared["requestBody"]["content"]["application/json"]["schema"]["oneOf"].append(operation["x-body"])
    shared["responses"].update(own["responses"])
    shared["x-actions"][route.action] = {key: own[key] for key in own.keys() & _OF_ACTIONS}
