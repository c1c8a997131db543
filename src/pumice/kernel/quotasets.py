"""Quotas over an API: what the routes of all services have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.kernel.api.shapes import Shape
from pumice.kernel.api.values import integer
from pumice.kernel.errors import BadRequest
from pumice.kernel.quotas import UNLIMITED, Quota

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


class SetQuotas(Shape):
    """{resource: limit}; which resources there are is not known beforehand, so the handler looks."""

    quota_set: dict[str, Any]


class SetClassQuotas(Shape):
    quota_class_set: dict[str, Any]


BESIDE = frozenset({"id", "tenant_id", "project_id", "class_name", "force", "skip_validation"})
"""Keys that clients send beside the resources."""

Keys = Mapping[str, str]
"""The API's name of each resource → its key in the tables."""

_OWNER = re.compile(r"[^:]{1,200}")
_LIMIT = integer(UNLIMITED)


def check_owner(owner: str) -> None:
    """:raises BadRequest: a project of that name could be taken for a class, or has none of the databases' lengths"""
    if not _OWNER.fullmatch(owner):
        raise BadRequest("The id of a project or class is refused: 1 to 200 characters without a colon are allowed.")


def named(keys: Keys, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[key] for name, key in keys.items()}


def with_usage(quota: Quota) -> dict[str, int]:
    """What is being made or grown is in use already: nothing is ever reserved."""
    return {"limit": quota.limit, "in_use": quota.in_use, "reserved": 0}


def given(body: Mapping[str, Any], keys: Keys) -> dict[str, int]:
    """The limits in a body by the tables' keys.

    :raises BadRequest: a resource that is none, or a limit that is none, or nothing at all
    """
    limits = {name: value for name, value in body.items() if name not in BESIDE}
    if not body:
        raise BadRequest("Nothing is given: at least one resource with its limit is needed.")
    if unknown := sorted(limits.keys() - keys.keys()):
        raise BadRequest(f"Not known to quotas: {', '.join(unknown)[:200]}; allowed are: {', '.join(keys)[:1000]}.")
    try:
        return {keys[name]: _LIMIT.parse(value) for name, value in limits.items()}
    except ValueError as error:
        raise BadRequest(f"A limit of {', '.join(sorted(limits))[:200]}: {error}") from None


def refuse_below_use(keys: Keys, limits: Mapping[str, int], used: Mapping[str, int]) -> None:
    """:raises BadRequest: more is in use than one of `limits` would allow"""
    names = {key: name for name, key in keys.items()}
    for key, limit in limits.items():
        if limit != UNLIMITED and used.get(key, 0) > limit:
            raise BadRequest(f"{names[key]}: {limit} is below what is in use, which is {used[key]}.")


@dataclass(frozen=True, slots=True)
class QuotaSets:
    """:param keys: the resources that a caller knows, at the request's version
    :param show_rule: the policy rule that is asked for the project whose quotas are shown
    """

    keys: Callable[[Session, Request], Keys]
    show_rule: str

    def authorize_show(self, req: Request, project_id: str) -> None:
        check_owner(project_id)
        req.authorize(self.show_rule, {"project_id": project_id, "user_id": req.context.user_id})

    def defaults(self, req: Request, id: str) -> dict[str, Any]:
        self.authorize_show(req, id)
        return {"quota_set": {"id": id, **self._class_limits(req, "default")}}

    def show_class(self, req: Request, name: str) -> dict[str, Any]:
        return {"quota_class_set": {"id": name, **self._class_limits(req, name)}}

    def _class_limits(self, req: Request, name: str) -> dict[str, int]:
        with req.service.db.read() as tx:
            keys = self.keys(tx, req)
            return named(keys, req.service.quotas.class_limits(tx, name, keys.values()))

    def update_class(self, req: Request, name: str) -> dict[str, Any]:
        check_owner(name)
        quotas = req.service.quotas

        def work(tx: Session) -> dict[str, int]:
            keys = self.keys(tx, req)
            quotas.set_limits(tx, f"class:{name}", given(req.body.quota_class_set, keys))
            return named(keys, quotas.class_limits(tx, name, keys.values()))

        return {"quota_class_set": req.service.db.write(work)}
