"""The routes of volumes (section 7 of the API)."""

from __future__ import annotations

from typing import Any

from pumice.block.volumes import actions, handlers, reset, rules
from pumice.block.volumes.create import create
from pumice.block.volumes.model import Volume
from pumice.block.volumes.shapes import CreateVolume, UpdateVolume
from pumice.kernel.api.routes import ADMIN, MEMBER, READER, Route, Rule
from pumice.kernel.metadata import MetadataOf

ONE = "/volumes/{id}"
EXTENSION = "volume_extension"


def _action(name: str, handler: Any, policy: str, *, success: int = 202, **more: Any) -> Route:
    path = f"{ONE}/action"
    return Route("POST", path, handler, action=name, policy=policy, load=Volume, success=success, **more)


ROUTES = [
    Route("GET", "/volumes/detail", handlers.detail, policy="volume:get_all", check=READER),
    Route("GET", "/volumes/summary", handlers.summary, policy="volume:get_all", check=READER, since="3.12"),
    Route("GET", "/volumes", handlers.index, policy="volume:get_all", check=READER),
    Route("POST", "/volumes", create, policy="volume:create", body=CreateVolume, success=202, creates=True),
    Route("GET", ONE, handlers.show, policy="volume:get", check=READER, load=Volume),
    Route("PUT", ONE, handlers.update, policy="volume:update", body=UpdateVolume, load=Volume),
    Route("DELETE", ONE, handlers.delete, policy="volume:delete", load=Volume, success=202),
    *MetadataOf(
        model=Volume,
        path=ONE,
        policies=(
            "volume:get_volume_metadata",
            "volume:create_volume_metadata",
            "volume:update_volume_metadata",
            "volume:delete_volume_metadata",
        ),
        guards=(rules.METADATA_CHANGEABLE,),
        etag_from="3.15",
    ).routes(),
    _action("os-extend", actions.extend, "volume:extend", body=actions.Extend),
    _action(
        "os-extend_volume_completion",
        actions.complete_extend,
        f"{EXTENSION}:volume_admin_actions:extend_volume_completion",
        check=ADMIN,
        since="3.71",
        body=actions.ExtendCompletion,
    ),
    _action("os-force_delete", actions.force_delete, f"{EXTENSION}:volume_admin_actions:force_delete", check=ADMIN),
    _action(
        "os-reset_status",
        reset.reset_status,
        f"{EXTENSION}:volume_admin_actions:reset_status",
        check=ADMIN,
        body=reset.ResetStatus,
    ),
    _action("os-set_bootable", actions.set_bootable, "volume:update", body=actions.SetBootable, success=200),
    _action(
        "os-update_readonly_flag",
        actions.update_readonly,
        "volume:update_readonly_flag",
        body=actions.UpdateReadonly,
    ),
    _action(
        "os-set_image_metadata",
        actions.set_image_metadata,
        f"{EXTENSION}:volume_image_metadata:set",
        body=actions.SetImageMetadata,
        success=200,
    ),
    _action(
        "os-unset_image_metadata",
        actions.unset_image_metadata,
        f"{EXTENSION}:volume_image_metadata:remove",
        body=actions.UnsetImageMetadata,
        success=200,
    ),
    _action(
        "os-show_image_metadata",
        actions.show_image_metadata,
        "volume:get_volume_metadata",
        check=READER,
        success=200,
    ),
    _action("revert", actions.revert, "volume:revert_to_snapshot", since="3.40", body=actions.Revert),
]

RULES = [
    Rule(name="volume:force_delete", check=ADMIN, doc="DELETE a volume with force=true"),
    Rule(name="volume:extend_attached_volume", check=MEMBER, doc="Extend a volume in use"),
    Rule(name="volume:multiattach", check=MEMBER, doc="Create a volume that can be attached several times"),
    Rule(name=f"{EXTENSION}:volume_host_attribute", check=ADMIN, doc="See os-vol-host-attr:host"),
    Rule(name=f"{EXTENSION}:volume_tenant_attribute", check=READER, doc="See os-vol-tenant-attr:tenant_id"),
    Rule(name=f"{EXTENSION}:volume_mig_status_attribute", check=ADMIN, doc="See os-vol-mig-status-attr:*"),
    Rule(name=f"{EXTENSION}:volume_image_metadata:show", check=READER, doc="See volume_image_metadata"),
]
