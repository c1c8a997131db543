"""What shapes and views say about their fields, as `Annotated` metadata."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from pumice.kernel.api.versions import Version

T = TypeVar("T")
P = ParamSpec("P")


def cached(function: Callable[P, T]) -> Callable[P, T]:
    """`functools.cache`, whose own type takes classes for unhashable and forgets what the arguments are."""
    return cast("Callable[P, T]", cache(function))


@dataclass(frozen=True, slots=True)
class Since:
    """The field exists from this version on."""

    version: str


@dataclass(frozen=True, slots=True)
class Until:
    """The field exists up to this version, which still has it."""

    version: str


@dataclass(frozen=True, slots=True)
class Named:
    """The field's name on the wire, where Python's spelling cannot be it."""

    name: str


def annotation(type_: Any, kind: type[T]) -> T | None:
    """The first annotation of a kind on `Annotated[...]`, or None."""
    return next((one for one in notes(type_) if isinstance(one, kind)), None)


def notes(type_: Any) -> tuple[Any, ...]:
    return type_.__metadata__ if typing.get_origin(type_) is Annotated else ()


def bare(type_: Any) -> Any:
    """The type without its annotations."""
    return type_.__origin__ if typing.get_origin(type_) is Annotated else type_


def wire_name(name: str, type_: Any) -> str:
    named = annotation(type_, Named)
    return named.name if named else name


def exists(type_: Any, version: Version) -> bool:
    """Whether a field of this annotated type exists at the version."""
    since, until = annotation(type_, Since), annotation(type_, Until)
    return version.within(since.version if since else "", until.version if until else "")


def rebuilt(type_: Any, change: Callable[[Any], Any]) -> Any:
    """The same generic or union type with `change` applied to each of its arguments."""
    origin, arguments = typing.get_origin(type_), typing.get_args(type_)
    if origin is None or origin is typing.Literal:
        return type_
    changed = tuple(change(one) for one in arguments)
    if origin in {types.UnionType, typing.Union}:
        return typing.Union[changed]  # noqa: UP007  # built at run time from a tuple
    return origin[changed]
