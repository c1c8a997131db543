"""Routes of share types (section 13 of the API)."""

from __future__ import annotations

from typing import Any

from pumice.kernel.api.routes import ADMIN, READER, Route
from pumice.share.types import handlers, shapes
from pumice.share.types.handlers import SHARE_TYPES as TYPES

ONE, SPECS, SPEC = "/types/{id}", "/types/{type_id}/extra_specs", "/types/{type_id}/extra_specs/{key}"
DETAIL = {"share_type": shapes.TypeDetail, "volume_type": shapes.TypeDetail}


def _type(method: str, path: str, handler: Any, rule: str, check: str = ADMIN, **more: Any) -> Route:
    return Route(method, path, handler, f"share_type:{rule}", check, **more)


def _spec(method: str, path: str, handler: Any, rule: str, **more: Any) -> Route:
    return Route(method, path, handler, f"share_types_extra_spec:{rule}", ADMIN, **more)


def _access(action: str, handler: Any, rule: str) -> Route:
    return _type("POST", f"{ONE}/action", handler, rule, action=action, body=shapes.ProjectAccess, success=202)


ROUTES = [
    _type("GET", "/types", handlers.index, "index", READER, answer={"share_types": list[shapes.TypeDetail]}),
    _type("POST", "/types", handlers.create, "create", body=shapes.CreateType, creates=True, answer=DETAIL),
    _type("GET", "/types/default", handlers.show_default, "default", READER, answer=DETAIL),
    _type("GET", ONE, handlers.show, "show", READER, answer=DETAIL),
    _type("PUT", ONE, handlers.update, "update", since="2.50", body=shapes.UpdateType, answer=DETAIL),
    _type("DELETE", ONE, TYPES.remove, "delete", success=202),
    _access("addProjectAccess", TYPES.add_access, "add_project_access"),
    _access("removeProjectAccess", TYPES.remove_access, "remove_project_access"),
    _type(
        "GET",
        "/types/{type_id}/share_type_access",
        TYPES.access,
        "list_project_access",
        aliases=("/types/{type_id}/os-share-type-access",),
        answer={"share_type_access": list[shapes.AccessEntry]},
    ),
    _spec("GET", SPECS, TYPES.specs, "show"),
    _spec("POST", SPECS, TYPES.add_specs, "create", body=shapes.SetSpecs),
    _spec("GET", SPEC, TYPES.spec, "index"),
    _spec("PUT", SPEC, TYPES.set_spec, "update", body=shapes.OneSpec),
    _spec("DELETE", SPEC, TYPES.remove_spec, "delete", success=202),
]
