"""Asking workers to look now for work that was left lying (3.24).

Workers find such work by themselves, within their lease and sweep interval; this only rings their doorbells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.block.admin import binaries
from pumice.block.admin.shapes import CleanedService, Cleanup
from pumice.block.backends import queue_of
from pumice.kernel import services
from pumice.kernel.db.scope import everything
from pumice.kernel.operations.model import Operation, State
from pumice.kernel.scheduling.placing import SCHEDULER
from pumice.kernel.services import WorkerService, up

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

CLEANING = (binaries.VOLUME, binaries.SCHEDULER)
RESOURCES = {"Volume": "VOLUME", "Snapshot": "VOLUME_SNAPSHOT"}
"""What the API calls the journal's types of resources here."""


def cleanup(req: Request) -> dict[str, Any]:
    body: Cleanup = req.body

    def work(tx: Session) -> tuple[list[WorkerService], list[WorkerService]]:
        meant = _meant(tx, req)
        serving = {_queue(row) for row in services.find(tx) if row.binary in CLEANING and up(row, req)}
        # Somebody serves the queue: the worker itself, or another of its cluster.
        reached = [row for row in meant if _queue(row) in serving]
        _ring(tx, req, {_queue(row) for row in reached}, body)
        return reached, [row for row in meant if row not in reached]

    cleaning, unavailable = req.service.db.write(work)
    return {"cleaning": req.views(CleanedService, cleaning), "unavailable": req.views(CleanedService, unavailable)}


def _meant(tx: Session, req: Request) -> list[WorkerService]:
    body: Cleanup = req.body
    rows = services.find(tx, host=body.host, binary=body.binary, cluster=body.cluster_name, disabled=body.disabled)
    return [
        row
        for row in rows
        if row.binary in CLEANING
        and (body.service_id is None or row.id == body.service_id)
        and (body.is_up is None or up(row, req) == body.is_up)
    ]


def _queue(row: WorkerService) -> str:
    return SCHEDULER if row.binary == binaries.SCHEDULER else queue_of(row.cluster or row.host)


def _ring(tx: Session, req: Request, queues: set[str], body: Cleanup) -> None:
    waiting = everything().select(Operation).where(Operation.queue.in_(queues), Operation.state == State.QUEUED)
    if body.resource_id:
        waiting = waiting.where(Operation.resource_id == body.resource_id)
    if body.resource_type:
        waiting = waiting.where(Operation.resource_type == RESOURCES[body.resource_type])
    for operation in tx.scalars(waiting):
        req.service.journal.ring(tx, operation)
