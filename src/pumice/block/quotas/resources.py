"""What quotas count, under which keys.

Counters and limits of a volume type are kept by its id, so that a renamed type keeps them; the API shows them by
its name (`gigabytes_<name>`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from oslo_config import cfg
from sqlalchemy.orm import Session

from pumice.block.types.model import VolumeType
from pumice.kernel.db.scope import everything
from pumice.kernel.quotas import Quotas

PER_VOLUME = "per_volume_gigabytes"
"""A bound on the size of one volume: it has a limit, and nothing counts for it."""

_OPTIONS = {
    "volumes": "quota_volumes",
    "snapshots": "quota_snapshots",
    "gigabytes": "quota_gigabytes",
    "backups": "quota_backups",
    "backup_gigabytes": "quota_backup_gigabytes",
    PER_VOLUME: "per_volume_size_limit",
    "groups": "quota_groups",
}
_OF_TYPES = ("volumes", "gigabytes", "snapshots")


def defaults(conf: cfg.ConfigOpts) -> Mapping[str, int]:
    """The configured limits; those of types are without bound until the API sets them."""
    return {resource: conf[option] for resource, option in _OPTIONS.items()}


def quotas_of(conf: cfg.ConfigOpts) -> Quotas:
    return Quotas(defaults(conf), use_default_class=conf.use_default_quota_class, shown_as=shown_as)


def shown_as(tx: Session, resource: str) -> str:
    """The API's name of a resource."""
    kind, _, type_id = resource.partition(":")
    volume_type = everything().find(tx, VolumeType, type_id) if type_id else None
    return f"{kind}_{volume_type.name}" if volume_type else kind


def volume_charge(size: int, type_id: str | None, sign: int = 1) -> dict[str, int]:
    """What a volume of `size` GiB adds to its project's counters; -1 takes it away."""
    return _with_type({"volumes": sign, "gigabytes": sign * size}, type_id)


def growth_charge(gigabytes: int, type_id: str | None) -> dict[str, int]:
    """What a volume that grows by some GiB (shrinks, where negative) adds."""
    return _with_type({"gigabytes": gigabytes}, type_id)


def snapshot_charge(size: int, type_id: str | None, sign: int = 1) -> dict[str, int]:
    """What a snapshot adds that counts as `size` GiB: its volume's size, or 0 with `no_snapshot_gb_quota`."""
    return _with_type({"snapshots": sign, "gigabytes": sign * size}, type_id)


def _with_type(charge: dict[str, int], type_id: str | None) -> dict[str, int]:
    return charge | ({f"{resource}:{type_id}": delta for resource, delta in charge.items()} if type_id else {})


def check_volume_size(tx: Session, quotas: Quotas, project_id: str, size: int) -> None:
    """:raises OverLimit: one volume of the project may not be that large (GiB)"""
    quotas.check_size(tx, project_id, [PER_VOLUME], size)


def type_keys(type_id: str) -> list[str]:
    """The keys of a type, to be forgotten with it."""
    return [f"{resource}:{type_id}" for resource in _OF_TYPES]


def keys(types: Iterable[VolumeType]) -> dict[str, str]:
    """The API's name of each resource -> its key in the tables."""
    of_types = {f"{resource}_{one.name}": f"{resource}:{one.id}" for one in types for resource in _OF_TYPES}
    # A type's name cannot take the place of a resource: `volumes_x` is none.
    return {resource: resource for resource in _OPTIONS} | of_types
