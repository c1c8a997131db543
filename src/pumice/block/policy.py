"""Policy rules of Block Storage that no route names, and the helpers that an operator's policy.yaml may override."""

from __future__ import annotations

from collections.abc import Mapping

from pumice.kernel.api.routes import ADMIN, MEMBER, READER, Rule

HELPERS = (
    Rule(name="context_is_admin", check=ADMIN, doc="Decides the is_admin flag of a request."),
    Rule(
        name="admin_api",
        check="is_admin:True or (role:admin and is_admin_project:True)",
        doc="Default for most administrative APIs.",
    ),
    Rule(
        name="admin_or_owner",
        check="rule:admin_api or project_id:%(project_id)s",
        doc="Older default: an administrator, or any role in the object's project.",
    ),
    Rule(
        name="system_or_domain_or_project_admin",
        check="(role:admin and system_scope:all) or (role:admin and domain_id:%(domain_id)s)"
        " or (role:admin and project_id:%(project_id)s)",
        doc="An administrator of the cloud, of the object's domain, or of its project.",
    ),
    Rule(name="xena_system_admin_or_project_member", check=MEMBER, doc="An administrator, or a member of the project."),
    Rule(name="xena_system_admin_or_project_reader", check=READER, doc="An administrator, or a reader of the project."),
)

# The helper that stands for a route's default, so that an override of the helper changes every such rule.
HELPER_OF: Mapping[str, str] = {
    ADMIN: "admin_api",
    MEMBER: "xena_system_admin_or_project_member",
    READER: "xena_system_admin_or_project_reader",
}
