"""Request bodies: classes that know the newest version, derived for the version that a request speaks.

    class NewVolume(Shape, strict="3.53"):
        size: Size | None = None
        name: Annotated[Name | None, Alias("display_name")] = None
        group_id: Annotated[Uuid | None, Since("3.13")] = None

    class CreateVolume(Shape):
        volume: NewVolume
        hints: Annotated[dict[str, Any] | None, Named("OS-SCH-HNT:scheduler_hints")] = None

A field that does not exist at a version is an unknown key there, and the attribute holds its default (None where
it has none). Checks over several fields go into `__post_init__`: a ValueError there is answered as 400.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, cast, dataclass_transform

import msgspec

from pumice.kernel.api import fields
from pumice.kernel.api.values import Value
from pumice.kernel.api.versions import Version
from pumice.kernel.errors import ApiError, BadRequest

_NEVER = Annotated[str, msgspec.Meta(pattern="(?!)")]
# Ends the names of attributes that only derived classes have.
_BESIDE = "_beside"
# Begins the keys of fields that do not exist at a version.
_GONE = " "
_UNFIT = re.compile(r"Expected `(.*)`, got `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `([^`]*)`", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Alias:
    """Another key with the field's meaning; the field's own key wins where a body has both."""

    name: str


class _ShapeMeta(msgspec.StructMeta):
    strict: bool | str
    missing: type[ApiError]

    def __new__(
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        strict: bool | str = False,
        missing: type[ApiError] = BadRequest,
        **config: Any,
    ) -> _ShapeMeta:
        config.setdefault("kw_only", True)
        made: _ShapeMeta = super().__new__(mcls, name, bases, namespace, **config)
        made.strict = strict
        made.missing = missing
        return made


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class Shape(msgspec.Struct, metaclass=_ShapeMeta):
    """The base of request bodies. The class keyword `strict` says what happens to unknown keys: True refuses
    them, "3.53" refuses them from that version on, and by default they are ignored."""

    def given(self) -> dict[str, Any]:
        """The attributes that a body gave, of a shape whose optional fields are `X | UnsetType = UNSET`."""
        values = ((name, getattr(self, name)) for name in self.__struct_fields__ if not name.endswith(_BESIDE))
        return {name: value for name, value in values if value is not msgspec.UNSET}


def decode(body: type[Any], version: Version, raw: bytes | msgspec.Raw, path: str = "") -> Any:
    """Decode JSON text as a shape (or another type that msgspec knows) at a version.

    `path` is what error texts put before the field's path. Raises BadRequest, or what the shape says of missing keys.
    """
    try:
        return _decoder(body, version, not path).decode(raw)
    except msgspec.ValidationError as error:
        error_class = getattr(body, "missing", BadRequest) if _MISSING.fullmatch(str(error)) else BadRequest
        raise error_class(_explained(str(error), path)) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadRequest(f"the body is not JSON: {error}") from None


def is_gone(key: str) -> bool:
    """Whether a key of a derived class stands for a field that does not exist at its version."""
    return key.startswith(_GONE)


@fields.cached
def _decoder(body: type[Any], version: Version, outermost: bool) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(at(body, version, outermost=outermost), dec_hook=_convert)


@fields.cached
def at(type_: Any, version: Version, *, outermost: bool = False) -> Any:
    """The type as msgspec decodes it at the version. `outermost`: it is a whole body, where the key `type`
    is tolerated beside the others."""
    if value := fields.annotation(type_, Value):
        return _marker(value)
    inner = fields.bare(type_)
    if isinstance(inner, _ShapeMeta):
        return _derived(inner, version, outermost)
    rebuilt = fields.rebuilt(inner, lambda one: at(one, version))
    for meta in (one for one in fields.notes(type_) if isinstance(one, msgspec.Meta)):
        rebuilt = Annotated[rebuilt, meta]
    return rebuilt


def _derived(shape: _ShapeMeta, version: Version, outermost: bool) -> type[Any]:
    """A subclass of the shape whose keys are those of the version."""
    namespace: dict[str, Any] = {"__module__": shape.__module__, "__annotations__": {}}
    keys: dict[str, str] = {}
    aliased: list[_Aliased] = []

    def add(name: str, key: str, type_: Any, default: Any) -> None:
        namespace["__annotations__"][name] = type_
        keys[name] = key
        if default is not msgspec.NODEFAULT:
            namespace[name] = default

    for field in msgspec.structs.fields(cast("type[Shape]", shape)):
        own_key = fields.wire_name(field.encode_name, field.type)
        if not fields.exists(field.type, version):
            # The attribute stays, under a key that accepts nothing.
            gone = None if field.required else _default(field)
            add(field.name, f"{_GONE}{own_key}", _NEVER, gone)
            continue
        type_ = at(field.type, version)
        others = [one.name for one in fields.notes(field.type) if isinstance(one, Alias)]
        add(field.name, own_key, type_, msgspec.UNSET if others else _default(field))
        for number, key in enumerate(others):
            add(f"{field.name}{number}{_BESIDE}", key, type_, msgspec.UNSET)
        if others:
            aliased.append(_Aliased(field, own_key, [f"{field.name}{n}{_BESIDE}" for n in range(len(others))]))
    strict = shape.strict if isinstance(shape.strict, bool) else version >= shape.strict
    if strict and outermost and "type" not in keys.values():
        add(f"type{_BESIDE}", "type", Any, None)
    if aliased:
        namespace["__post_init__"] = _resolver(aliased, getattr(shape, "__post_init__", None))
    return _ShapeMeta(shape.__name__, (shape,), namespace, rename=keys, forbid_unknown_fields=strict)


@dataclass(frozen=True, slots=True)
class _Aliased:
    field: msgspec.structs.FieldInfo
    key: str
    others: list[str]


def _resolver(aliased: list[_Aliased], then: Callable[[Any], None] | None) -> Callable[[Any], None]:
    def resolve(self: Any) -> None:
        for one in aliased:
            given = (getattr(self, name) for name in (one.field.name, *one.others))
            value = next((found for found in given if found is not msgspec.UNSET), msgspec.UNSET)
            if value is msgspec.UNSET and one.field.required:
                raise ValueError(f"Object missing required field `{one.key}`")
            if value is msgspec.UNSET:
                factory = one.field.default_factory
                value = one.field.default if factory is msgspec.NODEFAULT else factory()
            setattr(self, one.field.name, value)
        if then:
            then(self)

    return resolve


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return msgspec.field(default_factory=field.default_factory)
    return field.default


class _Marker(type):
    """The class of types that stand for a `Value` in what msgspec decodes; what the converter returns is an
    instance of them, whatever it is."""

    value: Value

    def __instancecheck__(cls, instance: object) -> bool:
        return True


@fields.cached
def _marker(value: Value) -> _Marker:
    return _Marker("Value", (), {"value": value})


def _convert(marker: Any, decoded: Any) -> Any:
    return marker.value.parse(decoded)


def _explained(message: str, path: str) -> str:
    """msgspec's message in the words of this API, after the field's path."""
    message, _, place = message.partition(" - at `$")
    where = (path + place.removesuffix("`")).removeprefix(".")
    if found := _UNFIT.fullmatch(message):
        message = f"`{found[2]}` is refused: `{found[1]}` is allowed"
    elif found := _MISSING.fullmatch(message):
        message = f"the key `{found[1]}` is missing"
    elif found := _UNKNOWN.fullmatch(message):
        message = f"the key `{found[1]}` is not known here at this version"
    return f"{where or 'body'}: {message}"
