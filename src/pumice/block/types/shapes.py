"""Volume types on the wire (sections 13 and 14 of the API)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from pumice.block.types.model import VolumeType
from pumice.kernel.api.fields import Named
from pumice.kernel.api.shapes import Shape
from pumice.kernel.api.values import Boolean, ExtraSpecs, Name, Text, Word
from pumice.kernel.api.views import Guarded, Of, View

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

READ_SENSITIVE = "volume_extension:types_extra_specs:read_sensitive"
OPEN_SPECS = frozenset({"RESKEY:availability_zones", "multiattach", "replication_enabled"})
"""Extra specs that everybody reads."""


def visible_specs(row: VolumeType, req: Request) -> dict[str, Any]:
    """The extra specs that the caller may read."""
    if req.allows_field(READ_SENSITIVE):
        return row.extra_specs
    return {key: value for key, value in row.extra_specs.items() if key in OPEN_SPECS}


class TypeUpdated(View):
    id: str
    name: str
    is_public: bool
    description: str | None
    extra_specs: Annotated[
        dict[str, str | None], Of(visible_specs), Guarded("volume_extension:access_types_extra_specs")
    ]


class TypeCreated(TypeUpdated):
    public: Annotated[
        bool,
        Named("os-volume-type-access:is_public"),
        Of(lambda row, _: row.is_public),
        Guarded("volume_extension:volume_type_access"),
    ]


class TypeDetail(TypeCreated):
    # No type has QoS specs yet; the key is there for those who may read it.
    qos_specs_id: Annotated[
        str | None, Of(lambda _row, _req: None), Guarded("volume_extension:access_types_qos_specs_id")
    ]


class NewType(Shape):
    name: Word
    description: Text | None = None
    extra_specs: ExtraSpecs = msgspec.field(default_factory=dict)
    is_public: Annotated[Boolean, Named("os-volume-type-access:is_public")] = True


class CreateType(Shape):
    volume_type: NewType


class TypeChanges(Shape):
    """What is null stays as it is."""

    name: Name | None = None
    description: Text | None = None
    is_public: Boolean | None = None

    def __post_init__(self) -> None:
        if self.name is None and self.description is None and self.is_public is None:
            raise ValueError("one of name, description and is_public is needed")
        if self.name == "":
            raise ValueError("a name of blanks is refused: 1 to 255 characters are allowed")


class UpdateType(Shape):
    volume_type: TypeChanges


class SetSpecs(Shape):
    extra_specs: ExtraSpecs


OneSpec: Any = ExtraSpecs
"""A body {key: value} without a wrapping key."""


class ProjectAccess(Shape):
    project: Word


class AccessEntry(View):
    volume_type_id: Annotated[str, Of(lambda row, _: row.type_id)]
    project_id: str


class DefaultTypeDetail(View):
    project_id: str
    volume_type_id: str


class NewDefaultType(Shape):
    volume_type: Word


class SetDefaultType(Shape):
    default_type: NewDefaultType
