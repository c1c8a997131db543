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
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import QueryableAttribute

from pumice.kernel.api import fields
from pumice.kernel.api.versions import Version

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
    return _plan(view, req.version, hidden).render(rows, req)


def time_text(moment: datetime.datetime | None) -> str | None:
    """A time (naive, UTC) as the API writes it: ISO 8601 with microseconds, without an offset."""
    return None if moment is None else moment.isoformat(timespec="microseconds")


@fields.cached
def declared(view: type[View]) -> dict[str, Any]:
    """The view's fields, in order, with their annotated types."""
    return typing.get_type_hints(view, include_extras=True)


@fields.cached
def _rules(view: type[View]) -> frozenset[str]:
    guards = (fields.annotation(type_, Guarded) for type_ in declared(view).values())
    return frozenset(guard.rule for guard in guards if guard)


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a view at one version is made of a row: the attributes copied, the changes of copied values, the
    values computed from the row, and the keys left out when their value is None."""

    copied: dict[str, str]
    changed: tuple[tuple[str, Computed], ...]
    computed: tuple[tuple[str, Computed], ...]
    omitted: tuple[str, ...]

    def render(self, rows: Iterable[Any], req: Request) -> list[dict[str, Any]]:
        changed, computed, omitted = self.changed, self.computed, self.omitted
        read: Callable[[Any], dict[str, Any]] | None = None
        shown = []
        for row in rows:
            read = read or _reader(type(row), tuple(self.copied.items()))
            one = read(row)
            for key, change in changed:
                one[key] = change(one[key], req)
            for key, compute in computed:
                one[key] = compute(row, req)
            for key in omitted:
                if one[key] is None:
                    del one[key]
            shown.append(one)
        return shown


@fields.cached
def _reader(row_type: type[Any], copied: tuple[tuple[str, str], ...]) -> Callable[[Any], dict[str, Any]]:
    """Copies attributes of a row into a new dictionary under their keys.

    Loaded columns are taken from the instance's own dictionary in one step of C: going through SQLAlchemy's
    descriptors one by one would cost more than all the rest of an answer.
    """
    columns = [one for one in copied if isinstance(inspect.getattr_static(row_type, one[1], None), QueryableAttribute)]
    others = [one for one in copied if one not in columns]
    if len(columns) < 2:  # an itemgetter of less than two names gives no tuple
        return lambda row: {key: getattr(row, name) for key, name in copied}
    keys = [key for key, _ in columns]
    names = [name for _, name in columns]
    loaded, slowly = itemgetter(*names), attrgetter(*names)

    def read(row: Any) -> dict[str, Any]:
        try:
            values = loaded(row.__dict__)
        except KeyError:  # something is not loaded yet
            values = slowly(row)
        one = dict(zip(keys, values, strict=True))
        for key, name in others:
            one[key] = getattr(row, name)
        return one

    return read


@fields.cached
def _plan(view: type[View], version: Version, hidden: frozenset[str]) -> _Plan:
    copied: dict[str, str] = {}
    changed: list[tuple[str, Computed]] = []
    computed: list[tuple[str, Computed]] = []
    omitted: list[str] = []
    for name, type_ in declared(view).items():
        guard, of = fields.annotation(type_, Guarded), fields.annotation(type_, Of)
        if not fields.exists(type_, version) or (guard and guard.rule in hidden):
            continue
        key = fields.wire_name(name, type_)
        changes = _changes(type_, version)
        if of:
            computed.append((key, _chain(of.compute, changes)))
        else:
            copied[key] = name
            changed.extend((key, change) for change in changes)
        if fields.annotation(type_, OmitNone):
            omitted.append(key)
    return _Plan(copied, tuple(changed), tuple(computed), tuple(omitted))


def _changes(type_: Any, version: Version) -> list[Computed]:
    """What turns the row's value into the one shown at the version: first of newer meanings, then of form."""
    mapped = [one for one in fields.notes(type_) if isinstance(one, Mapped) and version < one.version]
    form = _form(fields.bare(type_))
    return [_ignoring_request(one.change) for one in mapped] + ([form] if form else [])


def _ignoring_request(change: Callable[[Any], Any]) -> Computed:
    return lambda value, _: change(value)


def _chain(compute: Computed, changes: list[Computed]) -> Computed:
    for change in changes:
        compute = _then(compute, change)
    return compute


def _then(compute: Computed, change: Computed) -> Computed:
    return lambda row, req: change(compute(row, req), req)


def _form(type_: Any) -> Computed | None:
    """What turns a value of the type into JSON's form, where it is not that already."""
    origin = typing.get_origin(type_)
    if origin in {types.UnionType, typing.Union}:
        inner = [one for one in typing.get_args(type_) if one is not types.NoneType]
        form = _form(fields.bare(inner[0])) if len(inner) == 1 else None
        return form and (lambda value, req: None if value is None else form(value, req))
    if origin is list:
        item = fields.bare(typing.get_args(type_)[0])
        if isinstance(item, type) and issubclass(item, View):
            return lambda values, req: render(item, values, req)
    if isinstance(type_, type) and issubclass(type_, datetime.datetime):
        return lambda moment, _: time_text(moment)
    if isinstance(type_, type) and issubclass(type_, View):
        return lambda value, req: render(type_, [value], req)[0]
    return None
