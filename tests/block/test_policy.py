"""The default of every policy rule, as the API documents it: an operator's policy.yaml counts on the names."""

from __future__ import annotations

import pytest
from oslo_policy import policy as oslo

from pumice.block.policy import HELPER_OF, HELPERS
from pumice.block.routes import API
from pumice.kernel.api.routes import ADMIN, MEMBER, READER
from pumice.kernel.auth.policy import defaults_of

ADMINS = [
    "backup:backup-import",
    "backup:backup_project_attribute",
    "backup:export-import",
    "clusters:get",
    "clusters:get_all",
    "clusters:update",
    "group:access_group_types_specs",
    "group:group_project_attribute",
    "group:group_snapshot_project_attribute",
    "group:group_types:create",
    "group:group_types:delete",
    "group:group_types:update",
    "group:group_types_specs:create",
    "group:group_types_specs:delete",
    "group:group_types_specs:get",
    "group:group_types_specs:get_all",
    "group:group_types_specs:update",
    "group:reset_group_snapshot_status",
    "group:reset_status",
    "scheduler_extension:scheduler_stats:get_pools",
    "snapshot_extension:list_manageable",
    "snapshot_extension:snapshot_manage",
    "snapshot_extension:snapshot_unmanage",
    "volume:failover_host",
    "volume:force_delete",
    "volume:freeze_host",
    "volume:thaw_host",
    "volume:update_volume_admin_metadata",
    "volume_extension:access_types_qos_specs_id",
    "volume_extension:backup_admin_actions:force_delete",
    "volume_extension:backup_admin_actions:reset_status",
    "volume_extension:capabilities",
    "volume_extension:default_get",
    "volume_extension:default_get_all",
    "volume_extension:default_set_or_update",
    "volume_extension:default_unset",
    "volume_extension:hosts",
    "volume_extension:list_manageable",
    "volume_extension:qos_specs_manage:create",
    "volume_extension:qos_specs_manage:delete",
    "volume_extension:qos_specs_manage:get",
    "volume_extension:qos_specs_manage:get_all",
    "volume_extension:qos_specs_manage:update",
    "volume_extension:quota_classes:get",
    "volume_extension:quota_classes:update",
    "volume_extension:quotas:delete",
    "volume_extension:quotas:update",
    "volume_extension:services:index",
    "volume_extension:services:update",
    "volume_extension:snapshot_admin_actions:force_delete",
    "volume_extension:snapshot_admin_actions:reset_status",
    "volume_extension:type_create",
    "volume_extension:type_delete",
    "volume_extension:type_update",
    "volume_extension:types_extra_specs:create",
    "volume_extension:types_extra_specs:delete",
    "volume_extension:types_extra_specs:read_sensitive",
    "volume_extension:types_extra_specs:update",
    "volume_extension:volume_actions:upload_public",
    "volume_extension:volume_admin_actions:extend_volume_completion",
    "volume_extension:volume_admin_actions:force_delete",
    "volume_extension:volume_admin_actions:force_detach",
    "volume_extension:volume_admin_actions:migrate_volume",
    "volume_extension:volume_admin_actions:migrate_volume_completion",
    "volume_extension:volume_admin_actions:reset_status",
    "volume_extension:volume_host_attribute",
    "volume_extension:volume_manage",
    "volume_extension:volume_mig_status_attribute",
    "volume_extension:volume_type_access:addProjectAccess",
    "volume_extension:volume_type_access:get_all_for_type",
    "volume_extension:volume_type_access:removeProjectAccess",
    "volume_extension:volume_type_encryption",
    "volume_extension:volume_type_encryption:create",
    "volume_extension:volume_type_encryption:delete",
    "volume_extension:volume_type_encryption:get",
    "volume_extension:volume_type_encryption:update",
    "volume_extension:volume_unmanage",
    "workers:cleanup",
]

MEMBERS = [
    "backup:create",
    "backup:delete",
    "backup:restore",
    "backup:update",
    "group:create",
    "group:create_group_snapshot",
    "group:delete",
    "group:delete_group_snapshot",
    "group:disable_replication",
    "group:enable_replication",
    "group:failover_replication",
    "group:list_replication_targets",
    "group:update",
    "group:update_group_snapshot",
    "message:delete",
    "snapshot_extension:snapshot_actions:update_snapshot_status",
    "volume:accept_transfer",
    "volume:attachment_complete",
    "volume:attachment_create",
    "volume:attachment_delete",
    "volume:attachment_update",
    "volume:create",
    "volume:create_from_image",
    "volume:create_snapshot",
    "volume:create_transfer",
    "volume:create_volume_metadata",
    "volume:delete",
    "volume:delete_snapshot",
    "volume:delete_snapshot_metadata",
    "volume:delete_transfer",
    "volume:delete_volume_metadata",
    "volume:extend",
    "volume:extend_attached_volume",
    "volume:multiattach",
    "volume:multiattach_bootable_volume",
    "volume:reimage",
    "volume:reimage_reserved",
    "volume:retype",
    "volume:revert_to_snapshot",
    "volume:update",
    "volume:update_readonly_flag",
    "volume:update_snapshot",
    "volume:update_snapshot_metadata",
    "volume:update_volume_metadata",
    "volume_extension:volume_actions:attach",
    "volume_extension:volume_actions:begin_detaching",
    "volume_extension:volume_actions:detach",
    "volume_extension:volume_actions:initialize_connection",
    "volume_extension:volume_actions:reserve",
    "volume_extension:volume_actions:roll_detaching",
    "volume_extension:volume_actions:terminate_connection",
    "volume_extension:volume_actions:unreserve",
    "volume_extension:volume_actions:upload_image",
    "volume_extension:volume_image_metadata:remove",
    "volume_extension:volume_image_metadata:set",
    "volume_extension:volume_type_access",
]

READERS = [
    "backup:get",
    "backup:get_all",
    "group:get",
    "group:get_all",
    "group:get_all_group_snapshots",
    "group:get_group_snapshot",
    "limits_extension:used_limits",
    "message:get",
    "message:get_all",
    "volume:get",
    "volume:get_all",
    "volume:get_all_snapshots",
    "volume:get_all_transfers",
    "volume:get_snapshot",
    "volume:get_snapshot_metadata",
    "volume:get_transfer",
    "volume:get_volume_metadata",
    "volume_extension:access_types_extra_specs",
    "volume_extension:extended_snapshot_attributes",
    "volume_extension:quotas:show",
    "volume_extension:type_get",
    "volume_extension:type_get_all",
    "volume_extension:types_extra_specs:index",
    "volume_extension:types_extra_specs:show",
    "volume_extension:volume_encryption_metadata",
    "volume_extension:volume_image_metadata:show",
    "volume_extension:volume_tenant_attribute",
]

DOCUMENTED = {
    **dict.fromkeys(ADMINS, ADMIN),
    **dict.fromkeys(MEMBERS, MEMBER),
    **dict.fromkeys(READERS, READER),
}
OURS = "operation"
"""What the names of rules of our own extension begin with."""

RULES = [rule for rule in defaults_of(API.table, API.rules) if not rule.name.startswith(OURS)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_default_is_the_documented_one(rule: oslo.RuleDefault) -> None:
    assert rule.check_str == DOCUMENTED[rule.name]


def test_helpers_have_the_documented_names() -> None:
    assert {helper.name for helper in HELPERS} == {
        "admin_api",
        "admin_or_owner",
        "context_is_admin",
        "system_or_domain_or_project_admin",
        "xena_system_admin_or_project_member",
        "xena_system_admin_or_project_reader",
    }


def test_every_documented_default_stands_on_a_helper() -> None:
    checks = {rule.name: rule.check_str for rule in defaults_of(API.table, API.rules, HELPERS, HELPER_OF)}
    for rule in RULES:
        assert checks[rule.name].startswith("rule:"), rule.name
