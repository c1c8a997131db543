"""The options that every service has, and the form in which a service names its own.

Names are those of cinder.conf and manila.conf where the meaning is the same.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

from keystoneauth1 import loading
from oslo_config import cfg


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions:
    """What a service adds to the kernel's options: `pumice.<service>.options.SERVICE`.

    :param api: what the names of the API's own options begin with
    :param groups: section -> options
    :param backends: the option in [DEFAULT] that lists the sections of enabled backends
    :param driver: the option of such a section that names the driver
    :param namespace: entry points of drivers
    :param backend_options: options of each such section; a driver adds its own as the class attribute `options`
    """

    name: str
    api: str
    groups: Mapping[str, Sequence[cfg.Opt]]
    backends: str
    driver: str
    namespace: str
    backend_options: Sequence[cfg.Opt]


GENERAL = [
    cfg.StrOpt(
        "state_path",
        default="/var/lib/pumice",
        help="Directory for what a service keeps on its machine: locks, the SQLite database, volumes of the file "
        "backend.",
    ),
    cfg.HostAddressOpt(
        "host",
        default=socket.gethostname(),
        sample_default="<this machine's name>",
        help="Name under which this worker's services and backends are known. Two workers never share one.",
    ),
    cfg.StrOpt(
        "cluster",
        help="Name of the cluster that this worker belongs to. All workers of a cluster serve the same backends.",
    ),
    cfg.StrOpt(
        "transport_url",
        default="",
        secret=True,
        help="Message bus, for example rabbit://user:password@host:5672/. Empty: everything runs in one process.",
    ),
    cfg.IntOpt("report_interval", default=10, min=1, help="Seconds between two reports of a service that it is alive."),
    cfg.IntOpt(
        "service_down_time", default=60, min=2, help="Seconds without a report after which a service counts as down."
    ),
    cfg.IntOpt(
        "rpc_response_timeout",
        default=60,
        min=1,
        help="Seconds that the API waits for calls that must be answered at once, such as connection information.",
    ),
    cfg.IntOpt(
        "graceful_shutdown_timeout",
        default=60,
        min=1,
        help="Seconds that a process which is to end lets go on what it is at; what takes longer is handed back.",
    ),
    cfg.IntOpt("api_threads", default=16, min=1, help="Requests that each process of the API answers at a time."),
    cfg.StrOpt("auth_strategy", default="keystone", choices=["keystone"], help="How callers prove who they are."),
    cfg.IntOpt("osapi_max_limit", default=1000, min=1, help="Largest number of items that one page of a list holds."),
    cfg.URIOpt(
        "public_endpoint",
        schemes=["http", "https"],
        help="URL that clients reach the API by, used in links. Without it, links follow the request.",
    ),
    cfg.StrOpt(
        "project_id_regex",
        default=r"[0-9a-f\-]+",
        help="What a project id looks like in the path, as a regular expression.",
    ),
    cfg.StrOpt(
        "resource_query_filters_file",
        help="JSON file: resource -> list of filters that its lists allow. Without it, the built-in lists count.",
    ),
    cfg.IntOpt("message_ttl", default=2592000, min=1, help="Seconds that a user message lives."),
    cfg.IntOpt("message_reap_interval", default=86400, min=1, help="Seconds between two removals of expired messages."),
    cfg.IntOpt(
        "idempotency_key_retention",
        default=86400,
        min=1,
        help="Seconds for which a request that was sent with an Idempotency-Key can be repeated.",
    ),
    cfg.BoolOpt(
        "use_default_quota_class",
        default=True,
        help="Whether the quota class `default`, where it is set, replaces the configured quotas.",
    ),
]

OPERATIONS = [
    cfg.IntOpt("threads", default=8, min=1, help="Operations that a worker carries out at a time, for each backend."),
    cfg.IntOpt(
        "reserved_threads",
        default=2,
        min=1,
        help="Threads kept for operations that a caller waits for (connection information); long ones never take them.",
    ),
    cfg.FloatOpt(
        "lease",
        default=15.0,
        min=0.2,
        help="Seconds without a beat after which an operation's worker counts as lost and another one takes over.",
    ),
    cfg.FloatOpt(
        "sweep_interval",
        default=5.0,
        min=0.05,
        help="Seconds between two looks for operations whose doorbell was lost. It bounds what a lost message costs.",
    ),
    cfg.IntOpt(
        "deadline",
        default=86400,
        min=1,
        help="Seconds after which an operation that has not ended fails, unless its kind has a deadline of its own.",
    ),
    cfg.IntOpt("retention", default=604800, min=0, help="Seconds that ended operations stay readable."),
]

MIDDLEWARE = [
    cfg.IntOpt("max_request_body_size", default=114688, min=1024, help="Largest request body in bytes."),
]

COORDINATION = [
    cfg.StrOpt(
        "backend_url",
        default="file://$state_path/coordination",
        secret=True,
        help="Lock service of all workers, as tooz names it, for example etcd3+http://host:2379. A directory is enough "
        "as long as all workers run on one machine.",
    ),
]


ZONE = cfg.StrOpt("storage_availability_zone", default="nova", help="Availability zone of this machine's services.")

BACKEND = [
    cfg.HostAddressOpt("backend_host", help="Takes the place of [DEFAULT] host for this backend."),
    cfg.StrOpt("backend_availability_zone", help="Takes the place of [DEFAULT] storage_availability_zone."),
]
"""What every section of a backend may have."""


def api_options(prefix: str, port: int) -> list[cfg.Opt]:
    return [
        cfg.HostAddressOpt(f"{prefix}_listen", default="127.0.0.1", help="Address that the API listens on."),
        cfg.PortOpt(f"{prefix}_listen_port", default=port, help="Port that the API listens on."),
        cfg.IntOpt(f"{prefix}_workers", default=2, min=1, help="Processes of the API, children of one."),
    ]


def quota_option(name: str, default: int, what: str) -> cfg.Opt:
    return cfg.IntOpt(name, default=default, min=-1, help=f"{what} of a project by default; -1 = no limit.")


def scheduler_options(*filters: str) -> list[cfg.Opt]:
    """The options of a service's scheduler.

    :param filters: those that a pool must pass by default
    """
    return [
        cfg.ListOpt(
            "scheduler_default_filters",
            default=list(filters),
            help="Filters that a pool must pass, in this order.",
        ),
        cfg.ListOpt(
            "scheduler_default_weighers",
            default=["FreeRatioWeigher"],
            help="Weighers that rank the pools which passed. FreeRatioWeigher spreads over pools of unlike size, "
            "CapacityWeigher fills the largest first.",
        ),
        cfg.StrOpt(
            "scheduler_weight_handler",
            default="OrderedHostHandler",
            choices=["OrderedHostHandler", "StochasticHostHandler"],
            help="How one of the ranked pools is chosen: the best, or at random by weight.",
        ),
        cfg.IntOpt("scheduler_max_attempts", default=3, min=1, help="Backends that are tried for one request."),
        cfg.FloatOpt(
            "free_ratio_weight_multiplier", default=1.0, help="Weight of the free share of a pool's capacity."
        ),
        cfg.FloatOpt("capacity_weight_multiplier", default=1.0, help="Weight of free capacity; negative: fill up."),
        cfg.FloatOpt(
            "allocated_capacity_weight_multiplier",
            default=-1.0,
            help="Weight of allocated capacity; negative: spread.",
        ),
    ]


def identity_options() -> list[cfg.Opt]:
    """Options of a section with credentials for Keystone. What its `auth_type` needs is added when it is read."""
    return [*loading.get_auth_common_conf_options(), *loading.get_session_conf_options()]


GROUPS: Mapping[str, Sequence[cfg.Opt]] = {
    "DEFAULT": GENERAL,
    "operations": OPERATIONS,
    "oslo_middleware": MIDDLEWARE,
    "coordination": COORDINATION,
}

# Libraries whose own options apply, by the module and function that list them.
LIBRARIES = (
    ("oslo_log._options", "list_opts"),
    ("oslo_db.options", "list_opts"),
    ("oslo_policy.opts", "list_opts"),
    ("oslo_concurrency.opts", "list_opts"),
    ("keystonemiddleware.auth_token", "list_opts"),
)


def library_groups() -> dict[str, list[cfg.Opt]]:
    """Section -> options of the libraries below us."""
    groups: dict[str, list[cfg.Opt]] = {}
    for module, function in LIBRARIES:
        for group, options in getattr(import_module(module), function)():
            groups.setdefault(getattr(group, "name", group) or "DEFAULT", []).extend(options)
    return groups
