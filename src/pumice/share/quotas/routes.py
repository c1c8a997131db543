"""Routes of quotas and limits (section 19 of the API)."""

from __future__ import annotations

from typing import Any

from pumice.kernel.api.routes import ADMIN, READER, Route
from pumice.kernel.quotasets import SetClassQuotas, SetQuotas
from pumice.share.quotas import handlers
from pumice.share.quotas.handlers import SETS
from pumice.share.renamed import renamed


def _both(method: str, path: str, handler: Any, rule: str, check: str = READER, **more: Any) -> list[Route]:
    return renamed(f"/os-{path}", Route(method, f"/{path}", handler, rule, check, **more))


ROUTES = [
    *_both("GET", "quota-sets/{id}", handlers.show, handlers.SHOW),
    *_both("GET", "quota-sets/{id}/defaults", SETS.defaults, handlers.SHOW),
    *_both("PUT", "quota-sets/{id}", handlers.update, "quota_set:update", ADMIN, body=SetQuotas),
    *_both("DELETE", "quota-sets/{id}", handlers.remove, "quota_set:delete", ADMIN, success=202),
    Route(
        "GET",
        "/quota-sets/{id}/detail",
        handlers.detail,
        handlers.SHOW,
        READER,
        since="2.25",
        doc="`in_use` has growth in flight in it: `reserved` is therefore always 0.",
    ),
    *_both("GET", "quota-class-sets/{name}", SETS.show_class, "quota_class_set:show"),
    *_both("PUT", "quota-class-sets/{name}", SETS.update_class, "quota_class_set:update", ADMIN, body=SetClassQuotas),
    # Everybody learns the limits of the own project.
    Route("GET", "/limits", handlers.limits, ""),
]
