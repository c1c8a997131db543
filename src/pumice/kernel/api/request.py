"""What a handler gets and gives: the request with its context, version, query and body; the reply."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import falcon

from pumice.kernel.api import links, views
from pumice.kernel.api.values import FALSE_WORDS, UINT31, boolean_word, shown
from pumice.kernel.api.versions import Dialect, Version
from pumice.kernel.db import scope as scopes
from pumice.kernel.errors import BadRequest, Forbidden, NotFound

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from pumice.kernel.api.idempotency import Key
    from pumice.kernel.api.views import View
    from pumice.kernel.auth.context import RequestContext
    from pumice.kernel.db.paging import Page
    from pumice.kernel.db.scope import Scope
    from pumice.kernel.service import Service

T = TypeVar("T")

_DIGITS = re.compile(r"[0-9]{1,1000}")
_MOST_PARAMETERS = 256


class Query:
    """The query parameters, in the order given; names and values are decoded text."""

    def __init__(self, text: str) -> None:
        """Raises BadRequest for what cannot be read."""
        try:
            self.pairs = urllib.parse.parse_qsl(
                text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS
            )
        except UnicodeDecodeError:
            raise BadRequest("the query is not UTF-8") from None
        except ValueError:
            raise BadRequest(f"the query has too many parameters: {_MOST_PARAMETERS} are allowed") from None
        if any("\0" in name or "\0" in value for name, value in self.pairs):
            raise BadRequest("the query holds a NUL character, which no text may")

    def __contains__(self, name: str) -> bool:
        return any(one == name for one, _ in self.pairs)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.pairs)

    def all(self, name: str) -> list[str]:
        return [value for one, value in self.pairs if one == name]

    def get(self, name: str, default: str | None = None) -> str | None:
        """The last value given."""
        return next((value for one, value in reversed(self.pairs) if one == name), default)

    def boolean(self, name: str, default: bool = False) -> bool:
        """Raises BadRequest for a word that is no boolean."""
        value = self.get(name)
        try:
            return default if value is None else boolean_word(value)
        except ValueError as error:
            raise BadRequest(f"{name}: {error}") from None

    def integer(self, name: str, default: int | None = None, *, maximum: int | None = UINT31) -> int | None:
        """An integer of 0 to `maximum` (None: any); raises BadRequest for anything else."""
        value = self.get(name)
        if value is None:
            return default
        if not _DIGITS.fullmatch(value) or (maximum is not None and int(value) > maximum):
            allowed = "of 0 or more" if maximum is None else f"from 0 to {maximum}"
            raise BadRequest(f"{name}: {shown(value)} is refused: an integer {allowed} is allowed")
        return int(value)


@dataclass(slots=True)
class Reply:
    """An answer that is more than its body. `status` replaces the route's; `body` is JSON-able, bytes (sent as
    they are) or None (empty)."""

    body: Any = None
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Request:
    """One request, its route found, its version agreed on and its body decoded."""

    service: Service
    dialect: Dialect
    context: RequestContext
    version: Version
    query: Query
    place: links.Place
    raw: falcon.Request
    body: Any = None
    project_in_path: bool = True
    key: Key | None = None
    reply_headers: dict[str, str] = field(default_factory=dict)
    _fields_allowed: dict[str, bool] = field(default_factory=dict)
    _link_starts: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def scope(self) -> Scope:
        """What the caller may look up by id: the own project's rows; for admins, all."""
        return scopes.everything() if self.context.is_admin else self.own

    def get(self, tx: Session, model: type[scopes.M], id: str, *, scope: Scope | None = None) -> scopes.M:
        """The row of that id, as far as the caller sees it.

        :param scope: instead of `scope`
        :raises NotFound:
        """
        row = (scope or self.scope).get(tx, model, id)
        statuses, rule = getattr(model, "__hidden__", ((), ""))
        if getattr(row, "status", None) in statuses and not self.allowed(rule):
            raise NotFound(f"{model.__label__} {id} could not be found.")
        return row

    @property
    def own(self) -> Scope:
        # A token without a project owns nothing; no row has an empty project.
        return scopes.own(self.context.project_id or "")

    @property
    def list_scope(self) -> Scope:
        """What a list is made of: the own project's rows; for admins who say `all_tenants`, all."""
        everything = self.context.is_admin and self.asks_all()
        return scopes.everything() if everything else self.own

    def list_scope_by(self, rule: str) -> Scope:
        """`list_scope` where a policy rule says who may list what is of all projects."""
        return scopes.everything() if self.asks_all() and self.allows_field(rule) else self.own

    def asks_all(self, name: str = "all_tenants") -> bool:
        """Whether the query says, as this API understands it, that rows of all projects are wanted."""
        if not self.dialect.all_tenants_by_any_word:
            return self.query.boolean(name)
        word = self.query.get(name)
        return word is not None and word.strip().lower() not in FALSE_WORDS

    def once(self, work: Callable[[Session], T], answer: Callable[[T], Any]) -> Any:
        """Do the work that adds a resource in one transaction, and answer; where the request has a key, the answer is
        kept with it (`kernel.api.idempotency`).

        :param answer: from what the work gives to the body, without a look at the database
        """
        key, db = self.key, self.service.db
        if key is None:
            return answer(db.write(work))
        return db.write(lambda tx: key.accept(tx, self, work, answer))

    def header(self, name: str) -> str | None:
        return self.raw.get_header(name)

    def allowed(self, rule: str, target: Mapping[str, Any] | None = None) -> bool:
        """Whether the policy rule passes; without a target it is asked for the caller's own project."""
        own = {"project_id": self.context.project_id, "user_id": self.context.user_id}
        return self.service.policy.authorize(self.context, rule, own if target is None else target)

    def authorize(self, rule: str, target: Mapping[str, Any] | None = None) -> None:
        """Raises Forbidden unless the rule passes."""
        if not self.allowed(rule, target):
            raise Forbidden(f"policy does not allow {rule} to be performed")

    def allows_field(self, rule: str) -> bool:
        """`allowed` for the guard of a field, asked once a request."""
        if rule not in self._fields_allowed:
            self._fields_allowed[rule] = self.allowed(rule)
        return self._fields_allowed[rule]

    def view(self, view: type[View], row: Any) -> dict[str, Any]:
        return views.render(view, [row], self)[0]

    def views(self, view: type[View], rows: Iterable[Any]) -> list[dict[str, Any]]:
        return views.render(view, rows, self)

    def page(self, key: str, view: type[View], page: Page[Any], *, links_key: str = "") -> dict[str, Any]:
        """The answer of a list: its rows under `key`, the link to the next page under `<key>_links` (or
        `links_key`), the count where one was asked for."""
        answer: dict[str, Any] = {key: self.views(view, page.rows)}
        if page.full:
            answer[links_key or f"{key}_links"] = [
                {"rel": "next", "href": self.place.next_page(self.query, page.rows[-1].id)}
            ]
        if page.count is not None:
            answer["count"] = page.count
        return answer

    def link(self, path: str) -> str:
        """An absolute URL of a path (with its leading slash) below the public endpoint."""
        return self.place.endpoint + path

    def links(self, collection: str, id: str) -> list[dict[str, str]]:
        """The `links` of an object: self and bookmark."""
        if collection not in self._link_starts:
            named = self.project_in_path or self.dialect.links_always_name_project
            project = f"/{self.context.project_id}" if named and self.context.project_id else ""
            ends = (f"{base}{project}/{collection}/" for base in (self.dialect.base, ""))
            self._link_starts[collection] = tuple(self.place.endpoint + end for end in ends)
        own, bookmark = self._link_starts[collection]
        return [{"rel": "self", "href": own + id}, {"rel": "bookmark", "href": bookmark + id}]
