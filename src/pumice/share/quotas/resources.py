"""What quotas count, under which keys.

A change counts for three scopes at once: the project, its share type within the project, and its user within the
project. Each is a counter of its own, changed by one `Quotas.charge`; the keys of a type and of a user hold their
ids, so that a renamed type keeps its counters.
"""

from __future__ import annotations

from collections.abc import Mapping

from oslo_config import cfg
from sqlalchemy.orm import Session

from pumice.kernel.db.scope import everything
from pumice.kernel.quotas import Quotas
from pumice.share.quotas.options import DEFAULTS
from pumice.share.types.model import ShareType

PER_SHARE = "per_share_gigabytes"
"""A bound on the size of one share: it has a limit, and nothing counts for it."""
RESOURCES = tuple(DEFAULTS)
OF_TYPES = tuple(name for name in RESOURCES if name not in {"share_networks", "share_groups", "share_group_snapshots"})
"""What can be bounded for one share type."""


def of_type(resource: str, type_id: str) -> str:
    """The key of what a project has of one type."""
    return f"{resource}:{type_id}"


def of_user(resource: str, user_id: str) -> str:
    """The key of what one user of a project has."""
    return f"{resource}@{user_id}"


def quotas_of(conf: cfg.ConfigOpts) -> Quotas:
    """The limits of projects by default; those of types and users are without bound until the API sets them."""
    configured = {resource: conf.quota[resource] for resource in RESOURCES}
    return Quotas(configured, use_default_class=conf.use_default_quota_class, shown_as=shown_as)


def shown_as(tx: Session, key: str) -> str:
    """What a key counts, for messages."""
    resource, at, _ = key.partition("@")
    if at:
        return f"{resource} of the user"
    resource, _, type_id = key.partition(":")
    found = everything().find(tx, ShareType, type_id) if type_id else None
    return f"{resource} of share type {found.name}" if found else resource


def share_charge(size: int, type_id: str | None, user_id: str | None, sign: int = 1) -> dict[str, int]:
    """What a share of `size` GiB adds to its project's counters; -1 takes it away."""
    return _in_scopes({"shares": sign, "gigabytes": sign * size}, type_id, user_id)


def growth_charge(gigabytes: int, type_id: str | None, user_id: str | None) -> dict[str, int]:
    """What a share that grows by some GiB (shrinks, where negative) adds."""
    return _in_scopes({"gigabytes": gigabytes}, type_id, user_id)


def snapshot_charge(size: int, type_id: str | None, user_id: str | None, sign: int = 1) -> dict[str, int]:
    """What a snapshot of a share of `size` GiB adds."""
    return _in_scopes({"snapshots": sign, "snapshot_gigabytes": sign * size}, type_id, user_id)


def _in_scopes(charge: Mapping[str, int], type_id: str | None, user_id: str | None) -> dict[str, int]:
    return {key: delta for resource, delta in charge.items() for key in scopes(resource, type_id, user_id)}


def scopes(resource: str, type_id: str | None, user_id: str | None) -> list[str]:
    """The keys of a resource for its project, the type and the user."""
    keys = [resource]
    if type_id:
        keys.append(of_type(resource, type_id))
    if user_id:
        keys.append(of_user(resource, user_id))
    return keys


def size_bounds(type_id: str | None, user_id: str | None) -> list[str]:
    """The keys that bound the size of one share, for `Quotas.check_size`."""
    return scopes(PER_SHARE, type_id, user_id)


def type_keys(type_id: str) -> list[str]:
    """The keys of a type, to be forgotten with it."""
    return [of_type(resource, type_id) for resource in OF_TYPES]
