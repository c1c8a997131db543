"""Answers: classes that know the newest version, compiled for the version and the caller of a request.

    class VolumeDetail(View):
        id: str
        created_at: datetime.datetime
        bootable: Annotated[str, Of(lambda row, req: "true" if row.bootable else "false")]
        group_id: Annotated[str | None, Since("3.13")]
        host: Annotated[str | None, Named("os-vol-host-attr:host"), Guarded("volume_extension:volume_host_attribute")]

A field's value is the row's attribute of the same name, or what its `Of` gives. Times become text with
microseconds; a field whose type is a view (or a list of one, or one or None) is shown through that view.
"""

from __future__ import annotations

import datetime
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import QueryableAttribute

from pumice.kernel.api import fields
from pumice.kernel.api.versions import Version
from pumice.kernel.db.records import Record

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

Computed = Callable[[Any, "Request"], Any]


@dataclass(frozen=True, slots=True)
class Of:
    """The field's value is `compute(row, req)`."""

    compute: Computed


@dataclass(frozen=True, slots=True)
class Guarded:
    """The field is shown only where the policy rule passes; it is asked once a request, for the caller's own
    project."""

    rule: str


@dataclass(frozen=True, slots=True)
class OmitNone:
    """The field is left out when its value is None."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """Below the version, the value is `change(value)`."""

    version: str
    change: Callable[[Any], Any]


class View:
    """The base of answers. Views are never instantiated: they are declarations."""


def render(view: type[View], rows: Iterable[Any], req: Request) -> list[dict[str, Any]]:
    """Every row as the view shows it to this caller at this version."""
    hidden = frozenset(rule for rule in _rules(view) if not req.allows_field(rule))
    shown = []
    row_type: type[Any] | None = None
    for row in rows:
        if type(row) is not row_type:
            row_type = type(row)
            plan = _plan(view, req.version, hidden, row_type)
        shown.append(plan.show(row, req))
    return shown


def time_text(moment: datetime.datetime | None) -> str | None:
    """A time (naive, UTC) as the API writes it: ISO 8601 with microseconds, without an offset."""
    if moment is None:
        return None
    text = moment.isoformat()
    return text if moment.microsecond else f"{text}.000000"


@fields.cached
def declared(view: type[View]) -> dict[str, Any]:
    """The view's fields, those of its bases first, with their annotated types."""
    # Not typing.get_type_hints: functions in annotations that it evaluates do not see their module's names.
    bases = [base for base in reversed(view.__mro__) if issubclass(base, View)]
    return {name: type_ for base in bases for name, type_ in inspect.get_annotations(base, eval_str=True).items()}


@fields.cached
def _rules(view: type[View]) -> frozenset[str]:
    guards = (fields.annotation(type_, Guarded) for type_ in declared(view).values())
    return frozenset(guard.rule for guard in guards if guard)


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a view is made of one class of rows.

    :param make: `make(row, columns, req)`: all fields, where `columns` is the row's own dictionary
    :param columns: attributes that `make` takes from there
    :param omitted: keys left out when their value is None
    """

    make: Callable[[Any, Any, Any], dict[str, Any]]
    columns: tuple[str, ...]
    omitted: tuple[str, ...]

    def show(self, row: Any, req: Request) -> dict[str, Any]:
        columns = row.__dict__ if self.columns else None
        try:
            one = self.make(row, columns, req)
        except KeyError:
            if all(name in row.__dict__ for name in self.columns):
                raise
            # Some are not loaded, or were never set in a row that is not stored yet.
            one = self.make(row, {name: getattr(row, name) for name in self.columns}, req)
        for key in self.omitted:
            if one[key] is None:
                del one[key]
        return one


@fields.cached
def _plan(view: type[View], version: Version, hidden: frozenset[str], row_type: type[Any]) -> _Plan:
    """The plan, its `make` compiled from one expression: lists of a thousand rows are common, and one dictionary
    display is several times faster than a loop over fields. Loaded columns are taken from the row's own
    dictionary, because SQLAlchemy's descriptors cost more than all the rest."""
    columns: list[str] = []
    omitted: list[str] = []
    parts: list[str] = []
    names: dict[str, Any] = {}

    def named(function: Callable[..., Any]) -> str:
        names[f"f{len(names)}"] = function
        return f"f{len(names) - 1}"

    for name, type_ in declared(view).items():
        guard, of = fields.annotation(type_, Guarded), fields.annotation(type_, Of)
        if not fields.exists(type_, version) or (guard and guard.rule in hidden):
            continue
        key = fields.wire_name(name, type_)
        if of:
            value = f"{named(of.compute)}(row, req)"
        elif _is_held(row_type, name):
            columns.append(name)
            value = f"columns[{name!r}]"
        else:
            value = f"row.{name}"
        for mapped in fields.notes(type_):
            if isinstance(mapped, Mapped) and version < mapped.version:
                value = f"{named(mapped.change)}({value})"
        if _not_none(type_) is datetime.datetime:
            value = f"{named(time_text)}({value})"
        elif form := _form(type_):
            value = f"{named(form)}({value}, req)"
        parts.append(f"{key!r}: {value}")
        if fields.annotation(type_, OmitNone):
            omitted.append(key)
    # Attribute names and quoted keys of our own declarations are all that is evaluated.
    make = eval(f"lambda row, columns, req: {{{', '.join(parts)}}}", names)  # noqa: S307
    return _Plan(make, tuple(columns), tuple(omitted))


def _is_held(row_type: type[Any], name: str) -> bool:
    """Whether rows have the value in their own dictionary."""
    static = inspect.getattr_static(row_type, name, None)
    return static is None if issubclass(row_type, Record) else isinstance(static, QueryableAttribute)


def _not_none(type_: Any) -> Any:
    """X of `X | None`; another type as it is."""
    inner = fields.bare(type_)
    if typing.get_origin(inner) in {types.UnionType, typing.Union}:
        others = [fields.bare(one) for one in typing.get_args(inner) if one is not types.NoneType]
        return others[0] if len(others) == 1 else inner
    return inner


def _form(type_: Any) -> Computed | None:
    """What shows a value of the type, where that is a view, a view or None, or a list of a view."""
    inner = _not_none(type_)
    if typing.get_origin(inner) is list:
        item = fields.bare(typing.get_args(inner)[0])
        return (lambda values, req: render(item, values, req) if values else []) if _is_view(item) else None
    if _is_view(inner):
        return lambda value, req: None if value is None else render(inner, [value], req)[0]
    return None


def _is_view(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, View)
