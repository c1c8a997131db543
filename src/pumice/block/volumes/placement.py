"""Where a new volume goes: the block service's use of the scheduler."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping

from sqlalchemy import func
from sqlalchemy.orm import Session

from pumice.block.admin import binaries
from pumice.block.types.model import VolumeType
from pumice.block.volumes.model import Volume
from pumice.kernel import moves, services
from pumice.kernel.db.engine import Database
from pumice.kernel.db.scope import everything, own
from pumice.kernel.messages import Detail
from pumice.kernel.operations.kinds import Failure
from pumice.kernel.operations.worker import Run
from pumice.kernel.scheduling import pool
from pumice.kernel.scheduling.plugins import Lookups
from pumice.kernel.scheduling.pool import PoolState
from pumice.kernel.scheduling.request import PlacementRequest
from pumice.kernel.scheduling.scheduler import NoValidPool, Scheduler
from pumice.kernel.scheduling.view import PoolView

SERVICES = uuid.UUID("c1f8f7a4-52f1-4a0e-9c56-7a2f9b0d3e61")
"""Namespace of the ids that the API shows for volume services (service_uuid); one follows from the backend's name."""


class RoomUnsure(Exception):
    """No pool has room now, but a newer sample of one may show some: ask again in a moment."""


class Placer:
    """The environment of steps in the scheduler's queue."""

    def __init__(self, scheduler: Scheduler, view: PoolView) -> None:
        self._scheduler = scheduler
        self._view = view

    def place(self, run: Run, volume: Volume) -> Volume:
        """Claim room for the volume on the best pool and write its host; the volume as it is then.

        :raises Failure: no pool will do
        :raises RoomUnsure:
        """
        with run.db.read() as tx:
            request = request_of(tx, run, volume)

        def claim(chosen: PoolState) -> bool:
            def work(tx: Session) -> bool | None:
                if not services.takes_new(tx, chosen.backend, binaries.VOLUME):
                    return None
                won = pool.claim(tx, chosen.host, volume.size, thick=request.thick)
                if won:
                    values = {
                        "host": chosen.host,
                        "cluster_name": chosen.state.cluster,
                        "service_uuid": str(uuid.uuid5(SERVICES, chosen.backend)),
                        "availability_zone": chosen.state.availability_zone,
                    }
                    moves.amend(tx, Volume, volume.id, operation_id=run.operation.id, **values)
                return won

            won = run.db.write(work)
            if won is None:
                # Closed since the view was read, which holds states of backends for a while.
                self._view.reread()
            return bool(won)

        try:
            self._scheduler.place(request, self._view, claim)
        except NoValidPool as error:
            if error.unsure:
                raise RoomUnsure from error
            raise Failure(str(error), detail=Detail.NO_BACKEND) from error
        with run.db.read() as tx:
            return everything().get(tx, Volume, volume.id)


def request_of(tx: Session, run: Run, volume: Volume) -> PlacementRequest:
    """What the scheduler is asked for a volume that is being created."""
    specs = specs_of(tx, volume.volume_type_id)
    return PlacementRequest(
        id=volume.id,
        gb=volume.size,
        project_id=volume.project_id,
        zones=frozenset(run.args["zones"]),
        extra_specs=specs,
        hints=run.args["hints"],
        attributes={"volume": {"size": volume.size, "name": volume.name, "id": volume.id}},
        attempted=frozenset(run.checkpoint.get("attempted", ())),
        only=run.args["only"],
        thick=is_thick(specs),
    )


def specs_of(tx: Session, type_id: str | None) -> Mapping[str, str | None]:
    found = everything().find(tx, VolumeType, type_id) if type_id else None
    return found.extra_specs if found else {}


def is_thick(specs: Mapping[str, str | None]) -> bool:
    """Whether a type's volumes count whole, without over-subscription (provisioning:type thick)."""
    return specs.get("provisioning:type") == "thick"


def lookups(db: Database, server_host: Callable[[str], str | None]) -> Lookups:
    """What filters and weighers ask about volumes and, through `server_host`, about servers."""

    def backends_of(project_id: str, ids: Collection[str]) -> Collection[str]:
        with db.read() as tx:
            statement = own(project_id).select(Volume).where(Volume.id.in_(list(ids)), Volume.host.is_not(None))
            return {volume.backend for volume in tx.scalars(statement)}

    def resources_on() -> Mapping[str, int]:
        with db.read() as tx:
            statement = everything().columns(Volume, Volume.host, func.count()).group_by(Volume.host)
            return {host: count for host, count in tx.execute(statement) if host}

    return Lookups(backends_of=backends_of, server_host=server_host, resources_on=resources_on)
