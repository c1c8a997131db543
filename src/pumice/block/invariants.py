"""What must hold of the rows at any moment, and of rows and backend when nothing is under way.

Used by `pumice quota check`, and after every test that changes state.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from pumice.block.attachments.exports import known_exports, wanted_exports
from pumice.block.attachments.model import Attachment
from pumice.block.drivers.base import Inventory
from pumice.block.quotas.resources import growth_charge, snapshot_charge, volume_charge
from pumice.block.snapshots import moves as snapshot_moves
from pumice.block.snapshots.model import Snapshot
from pumice.block.volumes import moves as volume_moves
from pumice.block.volumes.model import Volume
from pumice.kernel import quotas
from pumice.kernel.invariants import lines, orphans, unmoved
from pumice.kernel.operations.model import Operation
from pumice.kernel.scheduling import pool

ON_BACKEND = ("available", "in-use", "reserved", "attaching", "detaching", "error_extending", "extending", "reverting")
"""Statuses of a volume that has its data."""


def check(tx: Session) -> list[str]:
    """What is wrong in the rows, a line each: orphaned moves, quotas, claims on pools."""
    return [
        *orphans(tx, (Volume, Snapshot, Attachment)),
        *quotas.check(tx, _charges(tx)),
        *pool.check_claims(tx, _claims(tx)),
    ]


def stuck(tx: Session) -> list[str]:
    """Rows in a moving status without an operation: a bug, or an administrator's reset."""
    return unmoved(tx, ((Volume, volume_moves.MOVING), (Snapshot, snapshot_moves.MOVING)))


def _charges(tx: Session) -> Iterator[tuple[str, dict[str, int]]]:
    """What the rows consume of their projects' quotas, growth in flight included."""
    for volume in tx.scalars(select(Volume).where(Volume.consumes_quota)):
        yield volume.project_id, volume_charge(volume.size, volume.volume_type_id)
        yield volume.project_id, growth_charge(volume.growing_gb, volume.volume_type_id)
    for snapshot in tx.scalars(select(Snapshot).where(Snapshot.consumes_quota)):
        yield snapshot.project_id, snapshot_charge(snapshot.charged_gb, snapshot.volume_type_id)


def _claims(tx: Session) -> Iterator[tuple[str, int]]:
    """Pools, and GiB of what is placed on them, growth that is claimed included."""
    placed = select(Volume.host, func.sum(Volume.size)).where(Volume.host.is_not(None)).group_by(Volume.host)
    for host, size in tx.execute(placed):
        yield str(host), int(size)
    growing = select(Volume.host, Operation.checkpoint).join(Operation, Operation.id == Volume.operation_id)
    for host, checkpoint in tx.execute(growing.where(Volume.growing_gb > 0)):
        yield str(host), checkpoint.get("claimed", 0)


def compare(tx: Session, backend: str, held: Inventory) -> list[str]:
    """What a backend holds without a row, and what rows in a good status miss on it; only when all is quiet."""
    here = Volume.host.startswith(f"{backend}#", autoescape=True)
    volumes = {row.id: row.status for row in tx.execute(select(Volume.id, Volume.status).where(here))}
    of_backend = select(Snapshot.id, Snapshot.status).join(Volume, Volume.id == Snapshot.volume_id).where(here)
    snapshots = {row.id: row.status for row in tx.execute(of_backend)}
    exports = {export.id for export in wanted_exports(tx, backend)}
    good = {id for id, status in volumes.items() if status in ON_BACKEND}
    return [
        *lines("volume", "is on the backend and has no row", held.volumes - volumes.keys()),
        *lines("volume", "has a row and is not on the backend", good - held.volumes),
        *lines("snapshot", "is on the backend and has no row", held.snapshots - snapshots.keys()),
        *lines(
            "snapshot",
            "has a row and is not on the backend",
            {id for id, status in snapshots.items() if status == "available"} - held.snapshots,
        ),
        *lines("export", "is made and no row answers for it", held.exports - known_exports(tx, held.exports)),
        *lines("export", "is wanted by a row and not made", exports - held.exports),
        *lines("file", "is left over", held.leftovers),
    ]
