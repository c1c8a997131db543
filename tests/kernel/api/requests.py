"""Requests without an application, for what only needs one to look at."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import falcon.testing

from pumice.kernel.api.links import Place
from pumice.kernel.api.request import Query, Request
from pumice.kernel.api.versions import Version
from pumice.kernel.auth.context import RequestContext
from tests.kernel.api.toy import DIALECT
from tests.support.identity import PEOPLE


class FixedPolicy:
    def __init__(self, allowed: tuple[str, ...]) -> None:
        self.allowed = allowed
        self.asked: list[str] = []

    def authorize(self, context: RequestContext, rule: str, target: Any) -> bool:
        self.asked.append(rule)
        return rule in self.allowed


def a_request(
    query: str = "",
    *,
    version: str = "3.71",
    who: str = "member_a",
    allowed: tuple[str, ...] = (),
    limit: int = 1000,
    filters: dict[str, list[str]] | None = None,
    context: RequestContext | None = None,
    project_in_path: bool = True,
) -> Request:
    service: Any = SimpleNamespace(
        policy=FixedPolicy(allowed),
        conf=SimpleNamespace(osapi_max_limit=limit),
        resource_filters=filters or {},
    )
    return Request(
        service=service,
        dialect=DIALECT,
        context=context or PEOPLE[who],
        version=Version.parse(version),
        query=Query(query),
        place=Place("https://cloud/volume", "/v3/p/stones"),
        raw=falcon.testing.create_req(headers={"If-Match": "etag"}),
        project_in_path=project_in_path,
    )
