"""The routes of shares (section 5 of the API)."""

from __future__ import annotations

from typing import Any

from pumice.kernel.api.routes import ADMIN, READER, Route, Rule
from pumice.share.shares import actions, handlers
from pumice.share.shares.create import create
from pumice.share.shares.metadata import METADATA
from pumice.share.shares.model import SEE_DEFERRED, Share
from pumice.share.shares.shapes import CreateShare, Extend, Revert, Shrink, UpdateShare

ONE = "/shares/{id}"


def action(name: str, handler: Any, policy: str, *, success: int = 202, **more: Any) -> Route:
    path = f"{ONE}/action"
    return Route("POST", path, handler, action=name, policy=policy, load=Share, success=success, **more)


def renamed(name: str, handler: Any, policy: str, **more: Any) -> list[Route]:
    """An action, and the name that it had before 2.7."""
    return [
        action(name, handler, policy, since="2.7", **more),
        action(f"os-{name}", handler, policy, until="2.6", **more),
    ]


ROUTES = [
    Route("GET", "/shares/detail", handlers.detail, policy="share:get_all", check=READER),
    Route("GET", "/shares", handlers.index, policy="share:get_all", check=READER),
    Route("POST", "/shares", create, policy="share:create", body=CreateShare, creates=True),
    # Not loaded for the policy's target: others may read what is public.
    Route("GET", ONE, handlers.show, policy="share:get", check=READER),
    Route("PUT", ONE, handlers.update, policy="share:update", body=UpdateShare, load=Share),
    Route("DELETE", ONE, handlers.delete, policy="share:delete", load=Share, success=202),
    *METADATA.routes(),
    *renamed("extend", actions.extend, "share:extend", body=Extend),
    *renamed("shrink", actions.shrink, "share:shrink", body=Shrink),
    *renamed("force_delete", actions.force_delete, "share:force_delete", check=ADMIN),
    *renamed("reset_status", actions.reset_status, "share:reset_status", check=ADMIN, body=actions.ResetStatus),
    action(
        "reset_task_state",
        actions.reset_task_state,
        "share:reset_task_state",
        check=ADMIN,
        since="2.22",
        experimental_until="2.95",
        body=actions.ResetTaskState,
    ),
    action("revert", actions.revert, "share:revert_to_snapshot", since="2.27", body=Revert),
    action("soft_delete", actions.soft_delete, "share:soft_delete", since="2.69"),
    action("restore", actions.restore, "share:restore", since="2.69"),
]

RULES = [
    Rule(name="share:create_public_share", check=ADMIN, doc="Create a share that all projects see"),
    Rule(name="share:set_public_share", check=ADMIN, doc="Let all projects see a share"),
    Rule(name="share:list_by_host", check=ADMIN, doc="Filter shares by host"),
    Rule(name="share:list_by_share_server_id", check=ADMIN, doc="Filter shares by share server"),
    Rule(name=SEE_DEFERRED, check=ADMIN, doc="See shares whose deletion waits"),
    Rule(name="share:list_all_projects", check=ADMIN, doc="List the shares of all projects"),
    Rule(name="share:force_extend", check=ADMIN, doc="Extend without asking whether there is room"),
    Rule(
        name="share:extend_beyond_max_share_size_spec", check=ADMIN, doc="Extend beyond the share type's maximal size"
    ),
    Rule(name="share:update_admin_only_metadata", check=ADMIN, doc="Change metadata that is for administrators"),
    Rule(name="share:access_get", check=READER, doc="Read one access rule of a share"),
]
