"""Routes that lost the prefix os- with version 2.7."""

from __future__ import annotations

from dataclasses import replace

from pumice.kernel.api.routes import Route

LAST_OLD, FIRST_NEW = "2.6", "2.7"


def renamed(old: str, route: Route) -> list[Route]:
    """The route by the path that it had, and by that of today."""
    return [replace(route, path=old, until=LAST_OLD), replace(route, since=FIRST_NEW)]
