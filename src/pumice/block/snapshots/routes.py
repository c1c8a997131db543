"""The routes of snapshots (section 8 of the API)."""

from __future__ import annotations

from typing import Any

from pumice.block.snapshots import handlers
from pumice.block.snapshots.model import Snapshot
from pumice.block.snapshots.shapes import CreateSnapshot, ResetStatus, UpdateSnapshot, UpdateStatus
from pumice.kernel.api.routes import ADMIN, READER, Route, Rule
from pumice.kernel.metadata import MetadataOf

ONE = "/snapshots/{id}"
ADMIN_ACTIONS = "volume_extension:snapshot_admin_actions"


def _action(name: str, handler: Any, policy: str, **more: Any) -> Route:
    path = f"{ONE}/action"
    return Route("POST", path, handler, action=name, policy=policy, load=Snapshot, success=202, **more)


ROUTES = [
    Route("GET", "/snapshots/detail", handlers.detail, policy="volume:get_all_snapshots", check=READER),
    Route("GET", "/snapshots", handlers.index, policy="volume:get_all_snapshots", check=READER),
    Route(
        "POST",
        "/snapshots",
        handlers.create,
        policy="volume:create_snapshot",
        body=CreateSnapshot,
        success=202,
        creates=True,
    ),
    Route("GET", ONE, handlers.show, policy="volume:get_snapshot", check=READER, load=Snapshot),
    Route("PUT", ONE, handlers.update, policy="volume:update_snapshot", body=UpdateSnapshot, load=Snapshot),
    Route("DELETE", ONE, handlers.delete, policy="volume:delete_snapshot", load=Snapshot, success=202),
    *MetadataOf(
        model=Snapshot,
        path=ONE,
        policies=(
            "volume:get_snapshot_metadata",
            "volume:update_snapshot_metadata",
            "volume:update_snapshot_metadata",
            "volume:delete_snapshot_metadata",
        ),
    ).routes(),
    _action("os-force_delete", handlers.force_delete, f"{ADMIN_ACTIONS}:force_delete", check=ADMIN),
    _action("os-reset_status", handlers.reset_status, f"{ADMIN_ACTIONS}:reset_status", check=ADMIN, body=ResetStatus),
    _action(
        "os-update_snapshot_status",
        handlers.update_status,
        "snapshot_extension:snapshot_actions:update_snapshot_status",
        body=UpdateStatus,
    ),
]

RULES = [
    Rule(
        name="volume_extension:extended_snapshot_attributes",
        check=READER,
        doc="See os-extended-snapshot-attributes:*",
    ),
]
