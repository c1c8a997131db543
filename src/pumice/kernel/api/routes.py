"""The route table's rows.

A service's API is one list of `Route`. Routing, version negotiation, validation, policy defaults, the OpenAPI
document, the reference docs and the sweeping tests all derive from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pumice.kernel.db.base import Owned

# Default check strings of policy rules; the three roles of every OpenStack service.
ADMIN = "role:admin"
MEMBER = "role:admin or (role:member and project_id:%(project_id)s)"
READER = "role:admin or (role:reader and project_id:%(project_id)s)"
ANYONE = "@"

Handler = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A policy rule that no route names by itself: a helper, or one that guards a field or a special case."""

    name: str
    check: str
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Route:
    """One row.

    :param method: GET, POST, PUT, DELETE
    :param path: relative to /v3/{project_id}, for example "/volumes/{id}"; its variables are handed to the
        handler by name
    :param handler: `handler(req, **path_variables)`; returns the JSON-able answer, bytes, a `Reply`, or None for
        an empty body
    :param policy: the rule asked before the handler runs, or several, all of which must pass
    :param check: default of the rule where this is the first row to name it (ADMIN, MEMBER, READER, ANYONE)
    :param since, until: first and last microversion; outside them the route does not exist (404)
    :param body: shape of the request body (for an action: of the value under its key), or another type that
        msgspec knows (`dict[str, SpecValue]`); None = what a body holds does not matter
    :param action: the key in the body of `POST .../action`
    :param load: the class of the row that the first path variable names. It is looked up in the
        caller's scope (404 where it is not visible), the policy is asked with its project and user as target,
        and the handler gets the row in the variable's place: `handler(req, row, **other_variables)`
    :param aliases: other paths with the same meaning
    :param success: HTTP status of a good answer
    :param experimental_until: up to this version the route exists only for requests with the dialect's
        experimental header
    :param creates: it adds a resource, once for all requests with the same Idempotency-Key: the handler answers by
        `req.once`
    :param answer: what the keys of the answer hold, views or lists of them; for the OpenAPI document
    """

    method: str
    path: str
    handler: Handler
    policy: str | tuple[str, ...]
    check: str = MEMBER
    since: str = ""
    until: str = ""
    body: type[Any] | None = None
    action: str = ""
    load: type[Owned] | None = None
    aliases: tuple[str, ...] = ()
    success: int = 200
    experimental_until: str = ""
    creates: bool = False
    answer: Mapping[str, Any] | None = None
    doc: str = ""
