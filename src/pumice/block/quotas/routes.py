"""Routes of quotas and limits (section 22 of the API)."""

from __future__ import annotations

from pumice.block.quotas import handlers
from pumice.block.quotas.handlers import SETS
from pumice.kernel.api.routes import ADMIN, READER, Route, Rule
from pumice.kernel.quotasets import SetClassQuotas, SetQuotas

QUOTAS = "volume_extension:quotas"
CLASSES = "volume_extension:quota_classes"

ROUTES = [
    Route(
        "GET",
        "/os-quota-sets/{id}",
        handlers.show,
        handlers.SHOW,
        READER,
        doc="Limits of a project; with usage=true also what is in use, growth in flight included: "
        "`reserved` is therefore always 0.",
    ),
    Route("PUT", "/os-quota-sets/{id}", handlers.update, f"{QUOTAS}:update", ADMIN, body=SetQuotas),
    Route("DELETE", "/os-quota-sets/{id}", handlers.remove, f"{QUOTAS}:delete", ADMIN),
    Route("GET", "/os-quota-sets/{id}/defaults", SETS.defaults, handlers.SHOW, READER),
    Route("GET", "/os-quota-class-sets/{name}", SETS.show_class, f"{CLASSES}:get", ADMIN),
    Route(
        "PUT",
        "/os-quota-class-sets/{name}",
        SETS.update_class,
        f"{CLASSES}:update",
        ADMIN,
        body=SetClassQuotas,
    ),
    # Everybody learns the limits; what is used of them is a matter of policy.
    Route("GET", "/limits", handlers.limits, ""),
]

RULES = [Rule(name=handlers.USED_LIMITS, check=READER, doc="Whether limits show what is used of them.")]
