"""The routes of share instances and export locations (sections 7 and 8 of the API)."""

from __future__ import annotations

from typing import Any

from pumice.kernel.api.routes import ADMIN, READER, Route, Rule
from pumice.share.instances import handlers, locations
from pumice.share.instances.shapes import ResetStatus
from pumice.share.shares.model import Share, ShareInstance

ONE = "/share_instances/{id}"
LOCATIONS = "/shares/{share_id}/export_locations"


def _get(path: str, handler: Any, policy: str, *, since: str = "2.3", check: str = ADMIN, **more: Any) -> Route:
    return Route("GET", path, handler, policy=policy, since=since, check=check, **more)


def _renamed(name: str, handler: Any, **more: Any) -> list[Route]:
    """An action of an instance, and the name that it had before 2.7."""
    policy = f"share_instance:{name}"
    return [
        Route(
            "POST",
            f"{ONE}/action",
            handler,
            policy,
            ADMIN,
            since=since,
            until=until,
            action=action,
            load=ShareInstance,
            success=202,
            **more,
        )
        for action, since, until in ((name, "2.7", ""), (f"os-{name}", "2.3", "2.6"))
    ]


ROUTES = [
    _get("/share_instances", handlers.index, "share_instance:index"),
    _get(ONE, handlers.show, "share_instance:show", load=ShareInstance),
    _get("/shares/{share_id}/instances", handlers.of_share, "share_instance:index", load=Share),
    *_renamed("reset_status", handlers.reset_status, body=ResetStatus),
    *_renamed("force_delete", handlers.force_delete),
    # Not loaded for the policy's target: others may read where public shares are.
    _get(LOCATIONS, locations.index, "share_export_location:index", since="2.9", check=READER),
    _get(f"{LOCATIONS}/{{location_id}}", locations.show, "share_export_location:show", since="2.9", check=READER),
    *locations.METADATA_ROUTES,
    _get(
        f"{ONE}/export_locations",
        locations.index_of_instance,
        "share_instance_export_location:index",
        since="2.9",
        load=ShareInstance,
    ),
    _get(
        f"{ONE}/export_locations/{{location_id}}",
        locations.show_of_instance,
        "share_instance_export_location:show",
        since="2.9",
        load=ShareInstance,
    ),
]

RULES = [
    Rule(
        name="share_export_location:update_admin_only_metadata",
        check=ADMIN,
        doc="Change metadata of export locations that is for administrators",
    ),
]
