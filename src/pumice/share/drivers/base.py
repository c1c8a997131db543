"""What a share driver is.

A driver does one backend's storage calls and its file servers', and knows nothing of the database or the API.
Every call may be made twice, by the same worker or by its successor: *already there* and *already gone* are
success. What a backend can do is which of these protocols its class implements. Sizes are whole GiB. All calls are
synchronous and run in a worker's threads; a driver must allow calls for different shares at the same time, and
gets no two calls for one share at the same time.

This contract is for backends that do not make share servers of their own (driver_handles_share_servers false).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from pumice.kernel.drivers import BackendError, PoolStats


class WouldLoseData(BackendError):
    """A share cannot shrink to the asked size: more than that is used."""


@dataclass(frozen=True, slots=True)
class ShareRef:
    """A share instance as a driver sees it: `id` names its storage for ever, `size` is in GiB.

    `proto` is NFS, CIFS, …; `mount_point_name` is the caller's wish for the last part of the path.
    """

    id: str
    size: int
    proto: str
    pool: str = ""
    share_id: str = ""
    mount_point_name: str | None = None


@dataclass(frozen=True, slots=True)
class SnapshotRef:
    """A snapshot instance of `share`; `provider_location` is set for snapshots that were made elsewhere."""

    id: str
    share: ShareRef
    size: int
    provider_location: str | None = None


@dataclass(frozen=True, slots=True)
class Path:
    """One export location: "host:/path" for NFS, a UNC path for CIFS."""

    path: str
    preferred: bool = False
    is_admin_only: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rule:
    """A wanted access rule: `type` ip, user, cert or cephx; `level` rw or ro."""

    id: str
    type: str
    to: str
    level: str = "rw"


@dataclass(frozen=True, slots=True)
class Applied:
    """How one rule fared: `error` is None when it is in force; `key` is a secret that the backend made for it."""

    error: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a backend holds for us, for checks that nothing is left over and nothing is missing.

    `exports`: id of a share or snapshot instance → the rules ("ip 10.0.0.1 rw") that its server enforces.
    """

    shares: frozenset[str]
    snapshots: frozenset[str]
    exports: Mapping[str, frozenset[str]] = field(default_factory=dict)
    leftovers: frozenset[str] = frozenset()


@runtime_checkable
class ShareDriver(Protocol):
    """The calls that every backend has. All raise `BackendError` (or a subclass) when the backend fails.

    `protocols` are those it exports (reported as storage_protocol, "NFS_CIFS").
    """

    vendor: str
    version: str
    protocols: Sequence[str]

    def start(self) -> None:
        """Check that the backend can be used and make what the driver itself needs; safe to call again."""

    def stop(self) -> None:
        """Let go of what the driver holds in this process. Shares and exports stay."""

    def pools(self) -> Sequence[PoolStats]: ...

    def inventory(self) -> Inventory: ...

    def exports(self) -> frozenset[str]:
        """The ids of the share and snapshot instances that are exported, without what rules are in force."""

    def create_share(self, share: ShareRef) -> Sequence[Path]:
        """Make an empty share that nobody may mount yet, and say where it is exported."""

    def delete_share(self, share: ShareRef) -> None:
        """Remove the share, its exports and its data; the id may be all that is known of it."""

    def extend_share(self, share: ShareRef, new_size: int) -> None:
        """Let the share hold `new_size` GiB; a share already that large is success."""

    def shrink_share(self, share: ShareRef, new_size: int) -> None:
        """:raises WouldLoseData: more than `new_size` GiB is used"""

    def ensure_share(self, share: ShareRef) -> Sequence[Path]:
        """After a restart: see that the share is there and exported; where it is exported now."""

    def apply_access(self, share: ShareRef, rules: Sequence[Rule]) -> Mapping[str, Applied]:
        """Bring the server to exactly these rules: what is not among them is cut off, mounted or not.

        A rule that the backend cannot enforce gets its error and does not keep the others from being applied.

        :returns: rule id → how it fared, for every rule given
        """


@runtime_checkable
class Snapshots(Protocol):
    def create_snapshot(self, snapshot: SnapshotRef) -> str:
        """Its provider location, by which it can be managed again."""

    def delete_snapshot(self, snapshot: SnapshotRef) -> None: ...


@runtime_checkable
class FromSnapshots(Protocol):
    def create_share_from_snapshot(self, share: ShareRef, snapshot: SnapshotRef) -> Sequence[Path]:
        """:raises ObjectMissing: the snapshot is not on the backend"""


@runtime_checkable
class Reverts(Protocol):
    def revert_to_snapshot(self, share: ShareRef, snapshot: SnapshotRef) -> None:
        """Set the data back to the snapshot's. Size, paths and rules stay; clients may have to mount again."""


@runtime_checkable
class MountableSnapshots(Protocol):
    def export_snapshot(self, snapshot: SnapshotRef) -> Sequence[Path]:
        """Export the snapshot, to nobody yet; where it is exported."""

    def apply_snapshot_access(self, snapshot: SnapshotRef, rules: Sequence[Rule]) -> Mapping[str, Applied]:
        """`ShareDriver.apply_access` for a snapshot; every rule is read only."""


@runtime_checkable
class Manages(Protocol):
    def manage_share(self, share: ShareRef, path: str, options: Mapping[str, str]) -> tuple[int, Sequence[Path]]:
        """Take over what is exported as `path`; its size in GiB, rounded up, and where it is exported now.

        :raises BackendError: there is no such thing, or it is another share's already
        """

    def unmanage_share(self, share: ShareRef) -> None:
        """Forget the share and its access rules; the data stays where it is."""

    def manage_snapshot(self, snapshot: SnapshotRef, location: str, options: Mapping[str, str]) -> int: ...

    def unmanage_snapshot(self, snapshot: SnapshotRef) -> None: ...


OPTIONAL: Mapping[str, type] = {
    "snapshots": Snapshots,
    "create_share_from_snapshot": FromSnapshots,
    "revert_to_snapshot": Reverts,
    "mount_snapshot": MountableSnapshots,
    "manage": Manages,
}
"""Those that not every backend has, by the features that pools report."""
