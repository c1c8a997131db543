"""What a volume driver is.

A driver does one backend's storage calls and knows nothing of the database or the API. Every call may be made
twice, by the same worker or by its successor: *already there* and *already gone* are success, and data is built
under a temporary name and renamed when whole, so that *already there* never means half a copy.

What a backend can do is which of these protocols its class implements. The class is registered in the stevedore
namespace `pumice.block.drivers` and is a `kernel.drivers.DriverClass`.
Sizes are whole GiB unless a name says otherwise. All calls are synchronous and run in a worker's threads; a
driver must allow calls for different volumes at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from pumice.kernel.drivers import PoolStats


@dataclass(frozen=True, slots=True)
class VolumeRef:
    """A volume as a driver sees it: `id` names its storage for ever, `size` is in GiB."""

    id: str
    size: int
    pool: str = ""


@dataclass(frozen=True, slots=True)
class SnapshotRef:
    """A snapshot of `volume`; `size` in GiB is the volume's when the snapshot was taken."""

    id: str
    volume: VolumeRef
    size: int


@dataclass(frozen=True, slots=True)
class Connector:
    """Who connects: the facts that os-brick gathers on a host (section 9 of the API, `connector`)."""

    facts: Mapping[str, Any]

    @property
    def host(self) -> str | None:
        return self.facts.get("host")

    @property
    def initiator(self) -> str | None:
        return self.facts.get("initiator")

    @property
    def ip(self) -> str | None:
        return self.facts.get("ip")


@dataclass(frozen=True, slots=True)
class Export:
    """One export: who (`connector`) reaches which volume by which connection.

    `id` is the attachment's id, or one made for a connection without an attachment; names of targets derive
    from it, so two attachments of one volume never share a target. `connection` is None until `connect`
    answered; afterwards it holds everything needed to make the same export again after a restart, secrets
    included, in the form {"driver_volume_type": str, "data": {...}}.
    """

    id: str
    volume: VolumeRef
    connector: Connector
    read_only: bool = False
    connection: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumePoolStats(PoolStats):
    """A pool of volumes; `multiattach` and `online_extend` say what its volumes can take."""

    multiattach: bool = True
    online_extend: bool = True


@dataclass(frozen=True, slots=True)
class Inventory:
    """Ids of all that a backend holds for us, for checks that nothing is left over and nothing is missing."""

    volumes: frozenset[str]
    snapshots: frozenset[str]
    exports: frozenset[str]
    leftovers: frozenset[str] = frozenset()


@runtime_checkable
class Driver(Protocol):
    """The calls that every backend has.

    All raise `BackendError` (or a subclass) when the backend fails. Class attributes `vendor`, `version` and
    `protocol` (the `storage_protocol` capability, for example "iSCSI") are reported as capabilities.
    """

    vendor: str
    version: str
    protocol: str

    def start(self) -> None:
        """Check that the backend can be used and make what the driver itself needs; safe to call again."""

    def stop(self) -> None:
        """Let go of what the driver holds in this process. Volumes and exports stay."""

    def pools(self) -> Sequence[VolumePoolStats]: ...

    def inventory(self) -> Inventory: ...

    def exports(self) -> Mapping[str, str]:
        """Every export that there is, with the id of its volume."""

    def create_volume(self, volume: VolumeRef) -> None:
        """Make a blank volume that reads as zeros."""

    def delete_volume(self, volume: VolumeRef) -> None: ...

    def extend_volume(self, volume: VolumeRef, new_size: int) -> None:
        """Grow to `new_size` GiB; data stays. A volume already that large is success."""

    def connect(self, export: Export) -> Mapping[str, Any]:
        """Make the export and return its connection {"driver_volume_type": ..., "data": {...}}.

        With `export.connection` set, that very export (same names, same secrets) is made again if it is gone.
        """

    def disconnect(self, export: Export) -> None:
        """Remove the export and end its sessions. Nothing of it is left; the volume stays."""


@runtime_checkable
class Snapshots(Protocol):
    def create_snapshot(self, snapshot: SnapshotRef) -> None: ...

    def delete_snapshot(self, snapshot: SnapshotRef) -> None: ...

    def create_volume_from_snapshot(self, volume: VolumeRef, snapshot: SnapshotRef) -> None:
        """Make `volume` (its size may be larger) with the snapshot's data.

        :raises ObjectMissing: the snapshot is not on the backend
        """


@runtime_checkable
class Clones(Protocol):
    def clone_volume(self, volume: VolumeRef, source: VolumeRef) -> None:
        """Make `volume` with the data that `source` has now; `source` may be in use."""


@runtime_checkable
class Reverts(Protocol):
    def revert_to_snapshot(self, volume: VolumeRef, snapshot: SnapshotRef) -> None:
        """Set the volume's data back to the snapshot's. The volume is not attached."""


OPTIONAL: Mapping[str, type] = {"snapshots": Snapshots, "clones": Clones, "reverts": Reverts}


@runtime_checkable
class ComputeExtends(Protocol):
    def extended_by_compute(self, volume: VolumeRef) -> bool:
        """Whether an attached volume is extended by the compute service, which then reports the end (3.71)."""
