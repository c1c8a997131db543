"""Options of quotas. Names and meanings are manila.conf's."""

from __future__ import annotations

from collections.abc import Mapping

from oslo_config import cfg

DEFAULTS: Mapping[str, tuple[int, str]] = {
    "shares": (50, "Shares"),
    "snapshots": (50, "Snapshots"),
    "gigabytes": (1000, "GiB in shares"),
    "snapshot_gigabytes": (1000, "GiB in snapshots"),
    "per_share_gigabytes": (-1, "GiB in one share"),
    "share_networks": (10, "Share networks"),
    "share_replicas": (100, "Share replicas"),
    "replica_gigabytes": (1000, "GiB in share replicas"),
    "share_groups": (50, "Share groups"),
    "share_group_snapshots": (50, "Share group snapshots"),
    "backups": (10, "Share backups"),
    "backup_gigabytes": (1000, "GiB in share backups"),
    "encryption_keys": (100, "Encryption keys"),
}
"""Resource → its limit, and what it counts."""


def _option(name: str, default: int, what: str) -> cfg.Opt:
    old = cfg.DeprecatedOpt(f"quota_{name}", group="DEFAULT")
    return cfg.IntOpt(
        name, default=default, min=-1, deprecated_opts=[old], help=f"{what} of a project by default; -1 = no limit."
    )


QUOTA = [_option(name, default, what) for name, (default, what) in DEFAULTS.items()]
"""Of the section [quota]."""
