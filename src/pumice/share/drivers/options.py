"""Options that every backend's section has, with the names of manila.conf."""

from __future__ import annotations

from typing import Any

from oslo_config import cfg

from pumice.kernel import drivers
from pumice.kernel.drivers import POOL_OPTIONS


def _reserved(name: str, what: str, default: int | None = None) -> cfg.Opt:
    return cfg.IntOpt(name, default=default, min=0, max=100, help=f"Percentage of a pool that is kept from {what}.")


COMMON = [
    cfg.StrOpt(
        "share_backend_name",
        help="The name that types ask for (extra spec share_backend_name) and that the pool carries; "
        "by default the section's name.",
    ),
    _reserved("reserved_share_percentage", "new shares", default=0),
    _reserved("reserved_share_from_snapshot_percentage", "shares from snapshots; by default as from new shares"),
    _reserved("reserved_share_extend_percentage", "shares that grow; by default as from new shares"),
    *POOL_OPTIONS,
]


def declared(section: cfg.ConfigOpts.GroupAttr, *, provisioned_gb: float = 0, used_gb: float = 0) -> dict[str, Any]:
    """The fields of `PoolStats` that a section says."""
    reserved = section.reserved_share_percentage
    from_snapshots = section.reserved_share_from_snapshot_percentage
    growing = section.reserved_share_extend_percentage
    return drivers.declared(section, provisioned_gb=provisioned_gb, used_gb=used_gb) | {
        "reserved_percentage": reserved,
        "extra": {
            "reserved_snapshot_percentage": reserved if from_snapshots is None else from_snapshots,
            "reserved_share_extend_percentage": reserved if growing is None else growing,
            "mount_point_name_support": True,
            "ipv4_support": True,
            "ipv6_support": True,
        },
    }
