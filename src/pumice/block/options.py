"""The Block Storage service's options. Names and meanings are cinder.conf's."""

from __future__ import annotations

from oslo_config import cfg

from pumice.block.drivers.options import COMMON
from pumice.kernel import options
from pumice.kernel.options import ServiceOptions, api_options, identity_options, quota_option, scheduler_options

API = "osapi_volume"

VOLUMES = [
    cfg.ListOpt(
        "enabled_backends",
        default=[],
        help="Sections that describe the backends of this machine's volume worker.",
    ),
    cfg.StrOpt("default_volume_type", default="__DEFAULT__", help="Type of volumes that are created without one."),
    options.ZONE,
    cfg.StrOpt(
        "default_availability_zone",
        help="Zone of volumes that are created without one. Without it, storage_availability_zone.",
    ),
    cfg.BoolOpt(
        "allow_availability_zone_fallback",
        default=False,
        help="Whether a volume for an unknown zone is created in the default zone instead of being refused.",
    ),
    cfg.BoolOpt("cloned_volume_same_az", default=True, help="Whether a copy of a volume stays in the volume's zone."),
    cfg.IntOpt(
        "extend_completion_timeout",
        default=3600,
        min=1,
        help="Seconds that an extend of an attached volume waits for compute, where compute does the work (3.71).",
    ),
    cfg.BoolOpt("no_snapshot_gb_quota", default=False, help="Whether snapshots do not count in gigabytes quotas."),
]

QUOTAS = [
    quota_option("quota_volumes", 10, "Volumes"),
    quota_option("quota_snapshots", 10, "Snapshots"),
    quota_option("quota_gigabytes", 1000, "GiB in volumes and snapshots"),
    quota_option("quota_backups", 10, "Backups"),
    quota_option("quota_backup_gigabytes", 1000, "GiB in backups"),
    quota_option("quota_groups", 10, "Groups"),
    quota_option("per_volume_size_limit", -1, "GiB in one volume"),
]

SCHEDULER = [
    *scheduler_options("AvailabilityZoneFilter", "CapacityFilter", "CapabilitiesFilter"),
    cfg.FloatOpt("volume_number_multiplier", default=-1.0, help="Weight of a pool's volumes; negative: spread."),
]

NOVA = [
    cfg.StrOpt("region_name", help="Region of the compute service."),
    cfg.StrOpt(
        "interface", default="public", choices=["public", "internal", "admin"], help="Its endpoint that is called."
    ),
    *identity_options(),
]

BACKEND = [
    cfg.StrOpt("volume_driver", help="The backend's driver: a name, or the path of its class."),
    *options.BACKEND,
    *COMMON,
]

SERVICE = ServiceOptions(
    name="block",
    api=API,
    groups={"DEFAULT": [*api_options(API, 8776), *VOLUMES, *QUOTAS, *SCHEDULER], "nova": NOVA},
    backends="enabled_backends",
    driver="volume_driver",
    namespace="pumice.block.drivers",
    backend_options=BACKEND,
)
