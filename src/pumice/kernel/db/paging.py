"""Lists: which rows, in which order, which page. What a collection sorts and filters by is data beside its model.

    VOLUMES = Listing(
        Volume, "volume",
        configured=("name", "status", "metadata", "size"),
        filters=(
            Filter("name", Volume.display_name, text),
            Filter("metadata", Volume.meta, pairs),
            Filter("size", Volume.size, whole_number),
            Filter("bootable", Volume.bootable, flag("3.2")),
            Filter("created_at", Volume.created_at, times, since="3.60"),
        ),
        sort={"name": Volume.display_name, "size": Volume.size, "created_at": Volume.created_at, "id": Volume.id},
        count_from="3.45",
    )
    with service.db.read() as tx:
        page = VOLUMES.page(tx, req)
    return req.page("volumes", VolumeSummary, page)

A page costs one query, one more for a marker, one more for a count, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from sqlalchemy import (
    ColumnElement,
    Select,
    SQLColumnExpression,
    String,
    UnaryExpression,
    and_,
    case,
    false,
    func,
    inspect,
    or_,
)
from sqlalchemy.orm import InstrumentedAttribute, Session

from pumice.kernel.api.values import shown
from pumice.kernel.api.versions import Version
from pumice.kernel.db.filters import Condition, condition_of
from pumice.kernel.db.records import records, selection
from pumice.kernel.errors import ApiError, BadRequest, NotFound

if TYPE_CHECKING:
    from pumice.kernel.api.request import Query, Request
    from pumice.kernel.db.scope import Scope

R = TypeVar("R")

_PAGING = frozenset({"limit", "offset", "marker", "sort", "sort_key", "sort_dir", "with_count", "all_tenants"})


@dataclass(frozen=True, slots=True)
class Filter:
    """A query parameter that narrows a list.

    :param on: a column; or a function `f(text, req)` that gives the condition (ValueError refuses the text)
    :param kind: how the text is compared with the column (`kernel.db.filters`), where that is not what its type
        suggests
    :param since, until: versions at which the filter exists; at others it is ignored
    """

    name: str
    on: Any
    kind: Condition | None = None
    since: str = ""
    until: str = ""

    def condition(self, value: str, req: Request) -> ColumnElement[bool]:
        try:
            if isinstance(self.on, InstrumentedAttribute):
                return (self.kind or condition_of(self.on))(self.on, value, req.version)
            computed: ColumnElement[bool] = self.on(value, req)
            return computed
        except ValueError as error:
            raise BadRequest(f"{self.name}: {error}") from None


@dataclass(frozen=True, slots=True)
class Page(Generic[R]):
    """Some rows of a list, as records.

    :param full: a link to the next page belongs to it
    :param count: all matches, if asked for
    """

    rows: Sequence[R]
    full: bool
    count: int | None


@dataclass(frozen=True, slots=True)
class _Key:
    """One key of an order."""

    column: InstrumentedAttribute[Any]
    descending: bool

    def order(self) -> list[UnaryExpression[Any]]:
        """Null comes before everything, as in two of the three databases; it is said where it matters, so that
        an order of columns without nulls is that of an index."""
        by: list[SQLColumnExpression[Any]] = [self.column]
        if _nullable(self.column):
            by.insert(0, case((self.column.is_(None), 0), else_=1))
        return [one.desc() if self.descending else one.asc() for one in by]

    def same(self, value: Any) -> ColumnElement[bool]:
        return self.column.is_(None) if value is None else self.column == value

    def after(self, value: Any) -> ColumnElement[bool]:
        if value is None:
            return false() if self.descending else self.column.is_not(None)
        above: ColumnElement[bool] = self.column > value
        below: ColumnElement[bool] = self.column < value
        if not self.descending:
            return above
        return or_(below, self.column.is_(None)) if _nullable(self.column) else below


@dataclass(frozen=True, slots=True)
class Listing(Generic[R]):
    """How one collection is listed.

    :param resource: its name among the configured resource filters
    :param configured: the filters that non-admins may use unless the operator's file says otherwise
    :param sort: sort keys and the columns they mean
    :param sort_since: first version of a sort key, where it is not always there
    :param secret: attributes that not even an admin may filter by
    :param other: query parameters that are no filters and that the handler reads itself
    :param count_from: first version with `with_count`; empty: never
    :param pages_from: below this version all paging parameters and filters are ignored
    :param unknown_marker: what a marker that is not in the list raises
    """

    model: type[R]
    resource: str
    configured: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    sort: Mapping[str, Any] = field(default_factory=dict)
    sort_since: Mapping[str, str] = field(default_factory=dict)
    secret: frozenset[str] = frozenset()
    other: frozenset[str] = frozenset()
    count_from: str = ""
    pages_from: str = ""
    unknown_marker: type[ApiError] = NotFound

    def page(
        self,
        tx: Session,
        req: Request,
        *,
        scope: Scope | None = None,
        where: Sequence[ColumnElement[bool]] = (),
    ) -> Page[R]:
        """The page that the request asks for; raises BadRequest and `unknown_marker`.

        :param scope: instead of `req.list_scope`
        :param where: further conditions
        """
        scope = scope or req.list_scope
        model: Any = self.model
        statement = scope.limit(selection(model), model).where(*where, *self.conditions(req))
        paged = not self.pages_from or req.version >= self.pages_from
        order = _order(self, _wanted(req.query) if paged else [], req.version)
        limit, count = int(req.service.conf.osapi_max_limit), None
        behind = statement
        if paged:
            limit = min(limit, req.query.integer("limit", limit, maximum=None) or 0)
            behind = statement.offset(req.query.integer("offset", 0))
            count = self._count(tx, req, statement)
            if (marker := req.query.get("marker")) is not None:
                behind = behind.where(self._behind(tx, scope, order, marker))
        by = [one for key in order for one in key.order()]
        rows: Sequence[R] = records(tx, self.model, behind.order_by(*by).limit(limit)) if limit else []
        return Page(rows, 0 < len(rows) == limit, count)

    def conditions(self, req: Request) -> list[ColumnElement[bool]]:
        """What the request's filters say, for the list itself and for summaries of it; raises BadRequest."""
        if self.pages_from and req.version < self.pages_from:
            return []
        known = {one.name: one for one in self.filters}
        found: dict[str, ColumnElement[bool]] = {}
        for name, value in req.query:
            if name in _PAGING or name in self.other:
                continue
            if not name.isascii():
                raise BadRequest(f"the filter {name!r} is refused: filter names are ASCII")
            condition = self._condition(name, value, known, req)
            if condition is not None:
                found[name] = condition
        return list(found.values())

    def _condition(
        self, name: str, value: str, known: Mapping[str, Filter], req: Request
    ) -> ColumnElement[bool] | None:
        """None where the filter is to be ignored."""
        base = name.removesuffix("~")
        declared = known.get(name) or known.get(base)
        if declared and not req.version.within(declared.since, declared.until):
            return None
        like = name != base and name not in known
        from_version = req.dialect.like_filters_from
        if like and (not from_version or req.version < from_version):
            return None
        if not req.context.is_admin and not self._permitted(name, base, req):
            return None
        column = declared.on if declared else self._columns().get(base)
        if like:
            return _contains(column, value)
        if declared:
            return declared.condition(value, req)
        return false() if column is None else Filter(name, column).condition(value, req)

    def _permitted(self, name: str, base: str, req: Request) -> bool:
        configured = req.service.resource_filters.get(self.resource, self.configured)
        if name in configured or base in configured:
            return True
        refused_from = req.dialect.unknown_filters_refused_from
        if refused_from and req.version >= refused_from:
            allowed = ", ".join(configured) or "none"
            raise BadRequest(f"the filter {name} is refused for {self.resource} lists; allowed are: {allowed}")
        return False

    def _columns(self) -> dict[str, Any]:
        names = (one.key for one in inspect(self.model).column_attrs)
        return {name: getattr(self.model, name) for name in names if name not in self.secret}

    def _behind(self, tx: Session, scope: Scope, order: Sequence[_Key], marker: str) -> ColumnElement[bool]:
        """The condition that only rows after the marker's pass."""
        model: Any = self.model
        found = scope.columns(model, *(key.column for key in order)).where(model.id == marker)
        values = tx.execute(found).one_or_none()
        if values is None:
            raise self.unknown_marker(f"the marker {marker!r} is not the id of an entry of this list")
        behind = or_(
            *(
                and_(*(k.same(v) for k, v in zip(order[:n], values, strict=False)), key.after(values[n]))
                for n, key in enumerate(order)
            )
        )
        # Implied by the rest, and said because databases make a range of an index only of this.
        return and_(or_(order[0].same(values[0]), order[0].after(values[0])), behind)

    def _count(self, tx: Session, req: Request, statement: Select[Any]) -> int | None:
        if not self.count_from or req.version < self.count_from or not req.query.boolean("with_count"):
            return None
        return tx.scalar(statement.with_only_columns(func.count(), maintain_column_froms=True))


def _wanted(query: Query) -> list[tuple[str, str]]:
    """The sort keys and directions that the query names, unchecked; a key "" stands for the default."""
    keys, directions = query.all("sort_key"), query.all("sort_dir")
    if "sort" in query:
        if keys or directions:
            raise BadRequest("sort is refused beside sort_key and sort_dir: one form is allowed")
        pairs = (one.strip().partition(":") for one in ",".join(query.all("sort")).split(","))
        wanted = [(key, direction if colon else "desc") for key, colon, direction in pairs]
        return [] if wanted == [("", "desc")] else wanted
    if len(directions) > max(len(keys), 1):
        raise BadRequest(f"{len(directions)} sort_dir are refused: one for each sort_key is allowed")
    default = directions[0] if directions else "desc"
    directions += [default] * (len(keys) - len(directions))
    return list(zip(keys or ["created_at"], directions or [default], strict=True))


def _order(listing: Listing[Any], wanted: Sequence[tuple[str, str]], version: Version) -> list[_Key]:
    """The wanted keys, then creation time and id in the direction of the first, so that no two rows are equal."""
    keys: dict[str, _Key] = {}
    sortable = {"created_at": listing.model.created_at, "id": listing.model.id, **listing.sort}
    for name, direction in wanted:
        column = sortable.get(name)
        if column is None or version < listing.sort_since.get(name, "1.0"):
            raise BadRequest(f"the sort key {shown(name)} is refused; allowed are: {', '.join(sorted(sortable))}")
        if direction not in {"asc", "desc"}:
            raise BadRequest(f"the sort direction {shown(direction)} is refused: asc or desc is allowed")
        keys.setdefault(column.key, _Key(column, direction == "desc"))
    descending = next((key.descending for key in keys.values()), True)
    for column in (listing.model.created_at, listing.model.id):
        keys.setdefault(column.key, _Key(column, descending))
    return list(keys.values())


def _contains(column: Any, value: str) -> ColumnElement[bool]:
    is_text = column is not None and isinstance(getattr(column, "type", None), String)
    # In small letters on both sides: the databases' own LIKE differ in what case means.
    return column.icontains(value, autoescape=True) if is_text else false()


def _nullable(column: Any) -> bool:
    return bool(inspect(column).property.columns[0].nullable)


def read_resource_filters(
    listings: Iterable[Listing[Any]], file: Path | None, *, others: Mapping[str, Sequence[str]] | None = None
) -> dict[str, list[str]]:
    """The configured filters of every resource: the listings' own (and `others`, of lists that are not made of
    rows), replaced by those of the operator's JSON file {resource: [filter, ...]}.

    Raises ValueError with a message that says what is wrong in the file.
    """
    filters = {one.resource: list(one.configured) for one in listings if one.configured}
    filters |= {resource: list(names) for resource, names in (others or {}).items()}
    if file:
        try:
            filters |= msgspec.json.decode(file.read_bytes(), type=dict[str, list[str]])
        except (OSError, msgspec.DecodeError) as error:
            raise ValueError(f"{file}: an object of resources and lists of filters is expected: {error}") from error
    return filters
