"""Snapshots: lists, show, create, update, delete and actions (section 8 of the API)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from sqlalchemy.orm import Session

from pumice.block.backends import queue_of
from pumice.block.quotas.resources import snapshot_charge
from pumice.block.snapshots import operations
from pumice.block.snapshots.model import Snapshot
from pumice.block.snapshots.shapes import NewSnapshot, SnapshotDetail, SnapshotNewView, SnapshotView
from pumice.block.volumes import rules
from pumice.block.volumes.model import Volume
from pumice.kernel import moves
from pumice.kernel.db.base import new_id
from pumice.kernel.db.filters import flag, pairs
from pumice.kernel.db.paging import Filter, Listing
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import BadRequest, NotFound
from pumice.kernel.moves import Guard
from pumice.kernel.operations.holds import not_read
from pumice.kernel.steps import refuse_incapable

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

SNAPSHOTS: Listing[Snapshot] = Listing(
    Snapshot,
    "snapshot",
    configured=("name", "status", "volume_id", "metadata", "availability_zone", "consumes_quota"),
    filters=(
        Filter("metadata", Snapshot.meta, pairs, since="3.22"),
        Filter("consumes_quota", Snapshot.consumes_quota, flag(), since="3.65"),
        Filter("availability_zone", lambda text, _req: _in_zone(text)),
    ),
    sort={
        "id": Snapshot.id,
        "status": Snapshot.status,
        "size": Snapshot.size,
        "created_at": Snapshot.created_at,
        "updated_at": Snapshot.updated_at,
        "name": Snapshot.name,
        "display_name": Snapshot.name,
        "volume_id": Snapshot.volume_id,
    },
    sort_since={"name": "3.30"},
    count_from="3.45",
)

UPDATABLE = {"creating": ("creating", "available", "error"), "deleting": ("deleting", "error_deleting")}
"""What os-update_snapshot_status may make of a status."""


def _in_zone(zone: str) -> Any:
    return Snapshot.volume_id.in_(everything().columns(Volume, Volume.id).where(Volume.availability_zone == zone))


def index(req: Request) -> dict[str, Any]:
    with req.service.db.read() as tx:
        page = SNAPSHOTS.page(tx, req)
    return req.page("snapshots", SnapshotView, page)


def detail(req: Request) -> dict[str, Any]:
    with req.service.db.read() as tx:
        page = SNAPSHOTS.page(tx, req)
    return req.page("snapshots", SnapshotDetail, page)


def show(req: Request, snapshot: Snapshot) -> dict[str, Any]:
    return {"snapshot": req.view(SnapshotDetail, snapshot)}


def create(req: Request) -> Any:
    asked: NewSnapshot = req.body.snapshot
    volume_id = asked.volume_id
    if volume_id is None:
        raise NotFound("Volume null could not be found: volume_id names the volume.")
    force = _force(req, asked)
    snapshot_id, operation_id, service = new_id(), new_id(), req.service

    def work(tx: Session) -> Snapshot:
        req.scope.get(tx, Volume, volume_id)
        volume = moves.touch(tx, Volume, volume_id, guards=_conditions(force=force))
        refuse_incapable(tx, volume.host, "snapshots", "take snapshots")
        counted = 0 if service.conf.no_snapshot_gb_quota else volume.size
        service.quotas.charge(tx, volume.project_id, snapshot_charge(counted, volume.volume_type_id))
        snapshot = Snapshot(
            id=snapshot_id,
            project_id=volume.project_id,
            user_id=req.context.user_id,
            volume_id=volume_id,
            status="creating",
            operation_id=operation_id,
            size=volume.size,
            charged_gb=counted,
            name=asked.name,
            description=asked.description,
            volume_type_id=volume.volume_type_id,
            progress="0%",
            meta=asked.metadata or {},
        )
        tx.add(snapshot)
        tx.flush()
        service.journal.submit(
            tx,
            operations.CREATE,
            req.context,
            snapshot,
            id=operation_id,
            queue=queue_of(volume.backend),
            args={"volume_id": volume_id},
        )
        req.reply_headers["X-Operation-Id"] = operation_id
        return snapshot

    return req.once(work, lambda snapshot: {"snapshot": req.view(SnapshotNewView, snapshot)})


def _force(req: Request, asked: NewSnapshot) -> bool:
    """Whether a volume in use will do; from 3.66 it always does, and `force` has no say any more."""
    if req.version < "3.66":
        return bool(asked.force) if asked.force is not UNSET else False
    if asked.force is False:
        raise BadRequest("force=false is refused from 3.66 on: a volume in use can always be snapshotted.")
    return True


def _conditions(*, force: bool) -> list[Guard]:
    allowed = ("available", "in-use") if force else ("available",)
    return [
        Guard(
            Volume.status.in_(allowed),
            f"A snapshot is taken of a volume in status {' or '.join(allowed)}"
            + ("." if force else "; of one in use with force=true."),
        ),
        rules.PLACED,
        rules.NO_MIGRATION,
        rules.NOT_FROZEN,
    ]


def update(req: Request, snapshot: Snapshot) -> dict[str, Any]:
    changes = req.body.snapshot.given()
    if not changes:
        raise BadRequest("The update is empty: at least one of name and description is needed.")
    fresh = req.service.db.write(lambda tx: moves.touch(tx, Snapshot, snapshot.id, **changes))
    return {"snapshot": req.view(SnapshotNewView, fresh)}


def delete(req: Request, snapshot: Snapshot, *, force: bool = False) -> None:
    kind = operations.FORCE_DELETE if force else operations.DELETE
    operation_id = new_id()

    def work(tx: Session) -> None:
        # The volume's row is touched, so that a revert or a cascade and this deletion exclude one another.
        volume = moves.touch(tx, Volume, snapshot.volume_id, guards=[rules.NOT_FROZEN])
        guards = [
            Guard(Snapshot.group_snapshot_id.is_(None), "The snapshot is part of a group snapshot."),
            not_read(Snapshot.id, "snapshot"),
        ]
        req.service.journal.begin(
            tx,
            kind,
            req.context,
            id=operation_id,
            queue=queue_of(volume.backend),
            resource_id=snapshot.id,
            guards=guards,
        )

    req.service.db.write(work)
    req.reply_headers["X-Operation-Id"] = operation_id


def force_delete(req: Request, snapshot: Snapshot) -> None:
    delete(req, snapshot, force=True)


def reset_status(req: Request, snapshot: Snapshot) -> None:
    """os-reset_status: the snapshot rests in what was set; an operation that had it has no say any more."""
    req.service.db.write(lambda tx: req.service.journal.reset(tx, Snapshot, snapshot.id, req.body.status))


def update_status(req: Request, snapshot: Snapshot) -> None:
    """os-update_snapshot_status: whoever takes the snapshot itself (compute) tells how far it is."""
    status = req.body.status
    allowed = [before for before, after in UPDATABLE.items() if status in after]
    guard = Guard(
        Snapshot.status.in_(allowed),
        f"status {status} is refused: creating may become {', '.join(UPDATABLE['creating'])}, "
        f"and deleting may become {', '.join(UPDATABLE['deleting'])}.",
    )
    values = {"status": status} | ({"progress": req.body.progress} if req.body.progress else {})
    req.service.db.write(lambda tx: moves.touch(tx, Snapshot, snapshot.id, guards=[guard], **values))
