"""Options that every backend's section has, with the names of cinder.conf."""

from __future__ import annotations

from typing import Any

from oslo_config import cfg

from pumice.kernel import drivers
from pumice.kernel.drivers import POOL_OPTIONS

COMMON = [
    cfg.StrOpt(
        "volume_backend_name",
        help="The name that types ask for (extra spec volume_backend_name) and that the pool carries; "
        "by default the section's name.",
    ),
    cfg.IntOpt(
        "reserved_percentage", default=0, min=0, max=100, help="Part of a pool's total that is never given away."
    ),
    *POOL_OPTIONS,
]


def declared(section: cfg.ConfigOpts.GroupAttr, *, provisioned_gb: float = 0, used_gb: float = 0) -> dict[str, Any]:
    """The fields of `PoolStats` that a section says."""
    common = drivers.declared(section, provisioned_gb=provisioned_gb, used_gb=used_gb)
    return common | {"reserved_percentage": section.reserved_percentage}
