"""The routes of snapshots and of their instances (section 9 of the API)."""

from __future__ import annotations

from typing import Any

from pumice.kernel.api.routes import ADMIN, MEMBER, READER, Route, Rule
from pumice.kernel.metadata import MetadataOf
from pumice.share.snapshots import handlers, queries, shapes
from pumice.share.snapshots.model import SEE_DEFERRED, ShareSnapshot, SnapshotInstance

ONE, INSTANCE = "/snapshots/{id}", "/snapshot-instances/{id}"
LISTED, INSTANCES = "share_snapshot:get_all_snapshots", "share_snapshot_instance"
LOCATIONS, INSTANCE_LOCATIONS = "share_snapshot_export_location", "share_snapshot_instance_export_location"
RENAMED, MOUNTABLE, BY_INSTANCE, MANAGED = "2.7", "2.32", "2.19", "2.12"
SHOWN = {"snapshot": shapes.SnapshotDetail}


def _of_snapshot(method: str, path: str, handler: Any, policy: str, check: str = MEMBER, **more: Any) -> Route:
    return Route(method, path, handler, policy, check, load=ShareSnapshot, **more)


def _action(name: str, handler: Any, rule: str, **more: Any) -> Route:
    policy = f"share_snapshot:{rule}"
    return _of_snapshot("POST", f"{ONE}/action", handler, policy, ADMIN, action=name, success=202, **more)


def _of_instance(method: str, path: str, handler: Any, policy: str, since: str = BY_INSTANCE, **more: Any) -> Route:
    return Route(method, path, handler, policy, ADMIN, since=since, load=SnapshotInstance, **more)


ROUTES = [
    Route(
        "GET",
        "/snapshots",
        queries.index,
        LISTED,
        READER,
        answer={"snapshots": list[shapes.SnapshotSummary]},
    ),
    Route(
        "GET",
        "/snapshots/detail",
        queries.detail,
        LISTED,
        READER,
        answer={"snapshots": list[shapes.SnapshotDetail]},
    ),
    # The policy is asked for the project of the share, which the handler finds.
    Route(
        "POST",
        "/snapshots",
        handlers.create,
        handlers.CREATE_RULE,
        MEMBER,
        body=shapes.CreateSnapshot,
        success=202,
        creates=True,
        answer=SHOWN,
    ),
    Route(
        "POST",
        "/snapshots/manage",
        handlers.manage,
        handlers.MANAGE_RULE,
        ADMIN,
        since=MANAGED,
        body=shapes.ManageSnapshot,
        success=202,
        creates=True,
        answer=SHOWN,
    ),
    _of_snapshot("GET", ONE, queries.show, "share_snapshot:get_snapshot", READER, answer=SHOWN),
    _of_snapshot("PUT", ONE, handlers.update, "share:snapshot_update", body=shapes.UpdateSnapshot, answer=SHOWN),
    _of_snapshot("DELETE", ONE, handlers.delete, "share:delete_snapshot", success=202),
    _action("os-force_delete", handlers.force_delete, "force_delete", until="2.6"),
    _action("force_delete", handlers.force_delete, "force_delete", since=RENAMED),
    _action("os-reset_status", handlers.reset_status, "reset_status", until="2.6", body=shapes.ResetStatus),
    _action("reset_status", handlers.reset_status, "reset_status", since=RENAMED, body=shapes.ResetStatus),
    _action("unmanage", handlers.unmanage, "unmanage_snapshot", since=MANAGED),
    *MetadataOf(
        model=ShareSnapshot,
        path=ONE,
        policies=(
            "share_snapshot:get_metadata",
            "share_snapshot:update_metadata",
            "share_snapshot:update_metadata",
            "share_snapshot:delete_metadata",
        ),
        since="2.73",
        wide=True,
    ).routes(),
    _of_snapshot(
        "GET",
        "/snapshots/{id}/export-locations",
        queries.locations,
        f"{LOCATIONS}:index",
        READER,
        since=MOUNTABLE,
        answer={"share_snapshot_export_locations": list[shapes.LocationSummary]},
    ),
    _of_snapshot(
        "GET",
        "/snapshots/{id}/export-locations/{export_location_id}",
        queries.location,
        f"{LOCATIONS}:show",
        READER,
        since=MOUNTABLE,
        answer={"share_snapshot_export_location": shapes.LocationDetail},
    ),
    Route(
        "GET",
        "/snapshot-instances",
        queries.instances,
        f"{INSTANCES}:index",
        ADMIN,
        since=BY_INSTANCE,
        answer={"snapshot_instances": list[shapes.InstanceSummary]},
    ),
    Route(
        "GET",
        "/snapshot-instances/detail",
        queries.instances_detail,
        f"{INSTANCES}:detail",
        ADMIN,
        since=BY_INSTANCE,
        answer={"snapshot_instances": list[shapes.InstanceDetail]},
    ),
    _of_instance(
        "GET",
        INSTANCE,
        queries.instance,
        f"{INSTANCES}:show",
        answer={"snapshot_instance": shapes.InstanceDetail},
    ),
    _of_instance(
        "POST",
        f"{INSTANCE}/action",
        handlers.reset_instance_status,
        f"{INSTANCES}:reset_status",
        action="reset_status",
        body=shapes.ResetStatus,
        success=202,
    ),
    _of_instance(
        "GET",
        f"{INSTANCE}/export-locations",
        queries.instance_locations,
        f"{INSTANCE_LOCATIONS}:index",
        since=MOUNTABLE,
        answer={"share_snapshot_export_locations": list[shapes.InstanceExportLocation]},
    ),
    _of_instance(
        "GET",
        f"{INSTANCE}/export-locations/{{export_location_id}}",
        queries.instance_location,
        f"{INSTANCE_LOCATIONS}:show",
        since=MOUNTABLE,
        answer={"share_snapshot_export_location": shapes.InstanceExportDetail},
    ),
]

RULES = [
    Rule(name=queries.ALL_PROJECTS, check=ADMIN, doc="List the snapshots of all projects"),
    Rule(name=SEE_DEFERRED, check=ADMIN, doc="See snapshots whose deletion waits"),
]
