"""Policy rules of Shared File Systems that no route names, and the helpers that a policy.yaml may override."""

from __future__ import annotations

from collections.abc import Mapping

from pumice.kernel.api.routes import ADMIN, Rule

HELPERS = (
    Rule(name="context_is_admin", check=ADMIN, doc="Decides the is_admin flag of a request."),
    Rule(
        name="context_is_host_admin",
        check="role:admin and project_id:%(project_id)s",
        doc="An administrator in the object's project: sees hosts.",
    ),
    Rule(name="admin_api", check="is_admin:True", doc="Default for most administrative APIs."),
    Rule(name="admin_or_service_api", check="role:admin or role:service", doc="An administrator, or a service."),
    Rule(
        name="admin_or_owner",
        check="is_admin:True or project_id:%(project_id)s",
        doc="Older default: an administrator, or any role in the object's project.",
    ),
    Rule(
        name="admin_or_owner_user",
        check="is_admin:True or (project_id:%(project_id)s and user_id:%(user_id)s)",
        doc="An administrator, or the user who made the object.",
    ),
    Rule(name="owner-user", check="project_id:%(project_id)s and user_id:%(user_id)s", doc="Who made the object."),
    *(
        Rule(
            name=f"project-{role}", check=f"role:{role} and project_id:%(project_id)s", doc=f"A {role} of the project."
        )
        for role in ("admin", "member", "reader")
    ),
)

# The helper that stands for a route's default, so that an override of the helper changes every such rule.
HELPER_OF: Mapping[str, str] = {ADMIN: "admin_api"}
