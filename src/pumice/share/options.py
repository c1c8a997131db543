"""The Shared File Systems service's options. Names and meanings are manila.conf's."""

from __future__ import annotations

from oslo_config import cfg, types

from pumice.kernel.options import BACKEND, ZONE, ServiceOptions, api_options, scheduler_options
from pumice.share.drivers.options import COMMON
from pumice.share.quotas.options import QUOTA
from pumice.share.transfers.options import TRANSFERS

PROTOCOLS = ("NFS", "CIFS", "GLUSTERFS", "HDFS", "CEPHFS", "MAPRFS", "LUSTRE", "WEKAFS")

API = "osapi_share"

SHARES = [
    cfg.ListOpt(
        "enabled_share_backends",
        default=[],
        help="Sections that describe the backends of this machine's share worker.",
    ),
    cfg.ListOpt(
        "enabled_share_protocols",
        default=["NFS", "CIFS"],
        item_type=types.String(choices=PROTOCOLS, ignore_case=True),
        help="Protocols that shares may be created for.",
    ),
    cfg.StrOpt("default_share_type", help="Type of shares that are created without one."),
    ZONE,
    cfg.IntOpt(
        "soft_deleted_share_retention_time",
        default=604800,
        min=0,
        help="Seconds that a share stays in the recycle bin before it is deleted.",
    ),
    cfg.IntOpt(
        "soft_deleted_shares_check_interval",
        default=3600,
        min=1,
        help="Seconds between two looks for shares whose time in the recycle bin is over.",
    ),
    cfg.BoolOpt(
        "is_deferred_deletion_enabled",
        default=False,
        help="Whether shares and snapshots that are deleted are gone for their users, and from their quotas, at once; "
        "backends then remove them in time, and again where that failed.",
    ),
    cfg.IntOpt(
        "periodic_deferred_delete_interval",
        default=300,
        min=1,
        help="Seconds between two looks for shares and snapshots whose deferred deletion failed.",
    ),
    cfg.ListOpt(
        "admin_only_metadata",
        default=["__affinity_same_host", "__affinity_different_host", "__managed_at"],
        help="Metadata keys of shares that only administrators may set.",
    ),
    cfg.ListOpt(
        "admin_only_el_metadata",
        default=["preferred"],
        help="Metadata keys of export locations that only administrators may set.",
    ),
    cfg.StrOpt(
        "default_mount_point_prefix",
        default="{project_id}_",
        help="What is put before the mount point names that callers wish for, unless the share type says otherwise.",
    ),
    cfg.BoolOpt(
        "use_scheduler_creating_share_from_snapshot",
        default=False,
        help="Whether a share from a snapshot may go to another pool of the snapshot's backend.",
    ),
    cfg.BoolOpt(
        "update_shares_status_on_ensure",
        default=True,
        help="Whether shares are shown as `ensuring` while an administrator has them made sure of.",
    ),
    cfg.IntOpt(
        "ensure_threads", default=4, min=1, help="Shares of a backend that are made sure of at a time after a start."
    ),
]

SCHEDULER = scheduler_options(
    "AvailabilityZoneFilter",
    "CapacityFilter",
    "CapabilitiesFilter",
    "DriverFilter",
    "AffinityFilter",
    "AntiAffinityFilter",
    "IgnoreAttemptedHostsFilter",
)

SERVICE = ServiceOptions(
    name="share",
    api=API,
    groups={"DEFAULT": [*api_options(API, 8786), *SHARES, *TRANSFERS, *SCHEDULER], "quota": QUOTA},
    backends="enabled_share_backends",
    driver="share_driver",
    namespace="pumice.share.drivers",
    backend_options=[
        cfg.StrOpt("share_driver", help="The backend's driver: a name, or the path of its class."),
        *BACKEND,
        *COMMON,
    ],
)
