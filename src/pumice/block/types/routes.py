"""Routes of volume types (sections 13 and 14 of the API, without encryption)."""

from __future__ import annotations

from pumice.block.types import defaults, handlers, shapes
from pumice.block.types.handlers import VOLUME_TYPES as TYPES
from pumice.kernel.api.routes import ADMIN, MEMBER, READER, Route, Rule

ACCESS = "volume_extension:volume_type_access"
SPECS = "volume_extension:types_extra_specs"

ROUTES = [
    Route(
        "GET",
        "/types",
        handlers.index,
        "volume_extension:type_get_all",
        READER,
        answer={"volume_types": list[shapes.TypeDetail]},
    ),
    Route(
        "POST",
        "/types",
        handlers.create,
        "volume_extension:type_create",
        ADMIN,
        body=shapes.CreateType,
        creates=True,
        answer={"volume_type": shapes.TypeCreated},
    ),
    Route(
        "GET",
        "/types/{id}",
        handlers.show,
        "volume_extension:type_get",
        READER,
        answer={"volume_type": shapes.TypeDetail},
    ),
    Route(
        "PUT",
        "/types/{id}",
        handlers.update,
        "volume_extension:type_update",
        ADMIN,
        body=shapes.UpdateType,
        answer={"volume_type": shapes.TypeUpdated},
    ),
    Route("DELETE", "/types/{id}", TYPES.remove, "volume_extension:type_delete", ADMIN, success=202),
    Route(
        "POST",
        "/types/{id}/action",
        TYPES.add_access,
        f"{ACCESS}:addProjectAccess",
        ADMIN,
        action="addProjectAccess",
        body=shapes.ProjectAccess,
        success=202,
    ),
    Route(
        "POST",
        "/types/{id}/action",
        TYPES.remove_access,
        f"{ACCESS}:removeProjectAccess",
        ADMIN,
        action="removeProjectAccess",
        body=shapes.ProjectAccess,
        success=202,
    ),
    Route(
        "GET",
        "/types/{type_id}/os-volume-type-access",
        TYPES.access,
        f"{ACCESS}:get_all_for_type",
        ADMIN,
        answer={"volume_type_access": list[shapes.AccessEntry]},
    ),
    Route("GET", "/types/{type_id}/extra_specs", TYPES.specs, f"{SPECS}:index", READER),
    Route("POST", "/types/{type_id}/extra_specs", TYPES.add_specs, f"{SPECS}:create", ADMIN, body=shapes.SetSpecs),
    Route("GET", "/types/{type_id}/extra_specs/{key}", TYPES.spec, f"{SPECS}:show", READER),
    Route(
        "PUT",
        "/types/{type_id}/extra_specs/{key}",
        TYPES.set_spec,
        f"{SPECS}:update",
        ADMIN,
        body=shapes.OneSpec,
    ),
    Route("DELETE", "/types/{type_id}/extra_specs/{key}", TYPES.remove_spec, f"{SPECS}:delete", ADMIN, success=202),
    Route(
        "GET",
        "/default-types",
        defaults.index,
        "volume_extension:default_get_all",
        ADMIN,
        since="3.62",
        answer={"default_types": list[shapes.DefaultTypeDetail]},
    ),
    Route(
        "GET",
        "/default-types/{project_id}",
        defaults.show,
        "volume_extension:default_get",
        ADMIN,
        since="3.62",
        answer={"default_type": shapes.DefaultTypeDetail},
    ),
    Route(
        "PUT",
        "/default-types/{project_id}",
        defaults.put,
        "volume_extension:default_set_or_update",
        ADMIN,
        since="3.62",
        body=shapes.SetDefaultType,
        answer={"default_type": shapes.DefaultTypeDetail},
    ),
    Route(
        "DELETE",
        "/default-types/{project_id}",
        defaults.remove,
        "volume_extension:default_unset",
        ADMIN,
        since="3.62",
        success=204,
    ),
]

RULES = [
    Rule(name="volume_extension:access_types_extra_specs", check=READER, doc="Whether types show their extra specs."),
    Rule(name="volume_extension:access_types_qos_specs_id", check=ADMIN, doc="Whether types show their QoS specs."),
    Rule(name=shapes.READ_SENSITIVE, check=ADMIN, doc="Whether all extra specs are shown, or only those for users."),
    Rule(name=ACCESS, check=MEMBER, doc="Whether types show if they are public."),
]
