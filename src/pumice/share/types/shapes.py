"""Share types on the wire (section 13 of the API)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import field

from pumice.kernel.api.fields import Named, Since, Until
from pumice.kernel.api.shapes import Alias, Shape
from pumice.kernel.api.values import SPEC_KEY_RULE, Boolean, Name, Text, Value, Word, mapping, matching
from pumice.kernel.api.views import Of, View
from pumice.share.types import specs
from pumice.share.types.model import ShareType

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

_texts = mapping(re.compile(r"[A-Za-z0-9\-_:.]{1,255}"), SPEC_KEY_RULE)


def _specs(value: Any) -> dict[str, str]:
    """Booleans and whole numbers are as good as text; zones are kept without blanks around them."""
    if isinstance(value, dict):
        value = {key: str(one) if isinstance(one, int) else one for key, one in value.items()}
    given: dict[str, str] = _texts.parse(value)
    if empty := [key for key, one in given.items() if not one and key != specs.MOUNT_POINT_PREFIX]:
        raise ValueError(f"the value of {empty[0]!r} is empty: 1 to 255 characters are allowed")
    if specs.ZONES in given:
        # A zone without a name stays one, to be refused.
        given[specs.ZONES] = ",".join(zone.strip() for zone in given[specs.ZONES].split(","))
    return given


ShareSpecs = Annotated[dict[str, str], Value(_specs, _texts.schema)]
OneSpec: Any = ShareSpecs
"""A body {key: value} without a wrapping key."""

# As it is given: identity's ids have no dashes, and would not be found with them.
_PROJECT = matching(re.compile(r"[0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}"), "a project's id is allowed")


class NewType(Shape):
    name: Word
    description: Text | None = None
    extra_specs: ShareSpecs = field(default_factory=dict)
    is_public: Annotated[Boolean, Named("share_type_access:is_public"), Alias("os-share-type-access:is_public")] = True


class CreateType(Shape):
    share_type: Annotated[NewType, Alias("volume_type")]


class TypeChanges(Shape):
    """What is null stays as it is; an empty description takes the type's away."""

    name: Name | None = None
    description: Text | None = None
    is_public: Annotated[Boolean | None, Named("share_type_access:is_public")] = None

    def __post_init__(self) -> None:
        if self.name == "":
            raise ValueError("a name of blanks is refused: 1 to 255 characters are allowed")
        if not self.changes():
            raise ValueError("one of name, description and share_type_access:is_public is needed")

    def changes(self) -> dict[str, Any]:
        given = {name: value for name, value in self.given().items() if value is not None}
        return given | {"description": given["description"] or None} if "description" in given else given


class UpdateType(Shape):
    share_type: TypeChanges


class SetSpecs(Shape):
    extra_specs: ShareSpecs


class ProjectAccess(Shape):
    project: Annotated[str, _PROJECT]


class AccessEntry(View):
    share_type_id: Annotated[str, Of(lambda row, _: row.type_id)]
    project_id: str


def visible_specs(row: ShareType, req: Request) -> dict[str, Any]:
    """The extra specs that the caller may read: all for admins, who see what is set and nothing else."""
    if req.context.is_admin:
        return row.extra_specs
    shown: dict[str, Any] = {key: value for key, value in row.extra_specs.items() if key in specs.OPEN}
    for key in specs.CAPABILITIES:
        if req.version >= ("2.99" if key == specs.INHERITS_ACCESS else "2.24"):
            shown.setdefault(key, False)
    return shown


def _required(row: ShareType, _req: Request) -> dict[str, Any]:
    return {key: row.extra_specs[key] for key in specs.REQUIRED}


def _public(row: ShareType, _req: Request) -> bool:
    return row.is_public


class TypeDetail(View):
    id: str
    name: str
    extra_specs: Annotated[dict[str, Any], Of(visible_specs)]
    required_extra_specs: Annotated[dict[str, Any], Of(_required)]
    was_public: Annotated[bool, Named("os-share-type-access:is_public"), Until("2.6"), Of(_public)]
    is_public: Annotated[bool, Named("share_type_access:is_public"), Since("2.7"), Of(_public)]
    description: Annotated[str | None, Since("2.41")]
    is_default: Annotated[bool, Since("2.46"), Of(lambda row, req: row.name == req.service.conf.default_share_type)]
