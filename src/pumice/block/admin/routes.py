"""Routes for operators, and what clients look up beforehand (sections 3, 5, 20, 21 and 22 of the API)."""

from __future__ import annotations

from pumice.block.admin import catalog, cleanup, clusters, hosts, logs, pools, services, shapes
from pumice.kernel.api.routes import ADMIN, Route

SERVICES = "volume_extension:services:update"
CLUSTERS = "clusters:update"
HOSTS = "volume_extension:hosts"

ROUTES = [
    Route("GET", "/extensions", catalog.extensions, "", answer={"extensions": list[catalog.ExtensionDetail]}),
    Route("GET", "/extensions/{alias}", catalog.extension, "", answer={"extension": catalog.ExtensionDetail}),
    Route("GET", "/resource_filters", catalog.resource_filters, "", since="3.33"),
    Route("GET", "/os-availability-zone", catalog.zones, ""),
    Route(
        "GET",
        "/os-services",
        services.index,
        "volume_extension:services:index",
        ADMIN,
        answer={"services": list[shapes.VolumeServiceDetail]},
    ),
    Route("PUT", "/os-services/enable", services.enable, SERVICES, ADMIN, body=shapes.OneService),
    Route("PUT", "/os-services/disable", services.disable, SERVICES, ADMIN, body=shapes.OneService),
    Route(
        "PUT",
        "/os-services/disable-log-reason",
        services.disable_with_reason,
        SERVICES,
        ADMIN,
        body=shapes.DisableWithReason,
    ),
    Route("PUT", "/os-services/freeze", services.freeze, "volume:freeze_host", ADMIN, body=shapes.HostOrCluster),
    Route("PUT", "/os-services/thaw", services.thaw, "volume:thaw_host", ADMIN, body=shapes.HostOrCluster),
    Route(
        "PUT",
        "/os-services/failover_host",
        services.failover,
        "volume:failover_host",
        ADMIN,
        body=shapes.Failover,
        success=202,
    ),
    Route("PUT", "/os-services/get-log", logs.show, SERVICES, ADMIN, since="3.32", body=shapes.GetLog),
    Route("PUT", "/os-services/set-log", logs.change, SERVICES, ADMIN, since="3.32", body=shapes.SetLog, success=202),
    Route("GET", "/os-hosts", hosts.index, HOSTS, ADMIN, answer={"hosts": list[shapes.HostSummary]}),
    Route("GET", "/os-hosts/{host}", hosts.show, HOSTS, ADMIN),
    Route("PUT", "/os-hosts/{host}", hosts.update, HOSTS, ADMIN, body=shapes.HostStatus),
    Route(
        "GET",
        "/clusters",
        clusters.index,
        "clusters:get_all",
        ADMIN,
        since="3.7",
        answer={"clusters": list[shapes.ClusterSummary]},
    ),
    Route(
        "GET",
        "/clusters/detail",
        clusters.detail,
        "clusters:get_all",
        ADMIN,
        since="3.7",
        answer={"clusters": list[shapes.ClusterDetail]},
    ),
    Route(
        "GET",
        "/clusters/{name}",
        clusters.show,
        "clusters:get",
        ADMIN,
        since="3.7",
        answer={"cluster": shapes.ClusterDetail},
    ),
    Route(
        "PUT",
        "/clusters/enable",
        clusters.enable,
        CLUSTERS,
        ADMIN,
        since="3.7",
        body=shapes.EnableCluster,
        answer={"cluster": shapes.ClusterSummary},
    ),
    Route(
        "PUT",
        "/clusters/disable",
        clusters.disable,
        CLUSTERS,
        ADMIN,
        since="3.7",
        body=shapes.DisableCluster,
        answer={"cluster": shapes.DisabledCluster},
    ),
    Route(
        "POST",
        "/workers/cleanup",
        cleanup.cleanup,
        "workers:cleanup",
        ADMIN,
        since="3.24",
        body=shapes.Cleanup,
        answer={"cleaning": list[shapes.CleanedService], "unavailable": list[shapes.CleanedService]},
        success=202,
    ),
    Route(
        "GET",
        "/scheduler-stats/get_pools",
        pools.index,
        "scheduler_extension:scheduler_stats:get_pools",
        ADMIN,
    ),
    Route("GET", "/capabilities/{host}", pools.capabilities, "volume_extension:capabilities", ADMIN),
]
