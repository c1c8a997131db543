"""Options that every backend's section has, with the names of cinder.conf."""

from __future__ import annotations

from oslo_config import cfg

COMMON = [
    cfg.StrOpt(
        "volume_backend_name",
        help="The name that types ask for (extra spec volume_backend_name) and that the pool carries; "
        "by default the section's name.",
    ),
    cfg.IntOpt(
        "reserved_percentage", default=0, min=0, max=100, help="Part of a pool's total that is never given away."
    ),
    cfg.StrOpt(
        "max_over_subscription_ratio",
        default="20.0",
        regex=r"^(auto|[1-9][0-9]*(\.[0-9]+)?)$",
        help="How often a thin pool's total may be promised, 1.0 or more; auto: from what the volumes really "
        "use (1 + provisioned / used), 20.0 as long as nothing is provisioned.",
    ),
    cfg.StrOpt("filter_function", help="The DriverFilter's expression for this backend."),
    cfg.StrOpt("goodness_function", help="The GoodnessWeigher's expression for this backend, 0 to 100."),
]


def over_subscription(setting: str, provisioned_gb: float, used_gb: float) -> float:
    """The ratio that `max_over_subscription_ratio` stands for at this moment."""
    if setting != "auto":
        return float(setting)
    return 1 + provisioned_gb / used_gb if provisioned_gb and used_gb else 20.0
