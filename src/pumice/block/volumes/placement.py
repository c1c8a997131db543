"""Where a new volume goes: the block service's use of the scheduler."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from sqlalchemy.orm import Session

from pumice.block.types.model import VolumeType
from pumice.block.volumes.model import Volume
from pumice.kernel.db.engine import Database
from pumice.kernel.db.scope import own
from pumice.kernel.operations.worker import Run
from pumice.kernel.scheduling.placing import counted, is_thick, wanted
from pumice.kernel.scheduling.plugins import Lookups
from pumice.kernel.scheduling.request import PlacementRequest
from pumice.kernel.types import specs_of


def request_of(tx: Session, run: Run, volume: Volume) -> PlacementRequest:
    """What the scheduler is asked for a volume that is being created."""
    specs = specs_of(tx, VolumeType, volume.volume_type_id)
    return request(volume, specs, run.args, run.checkpoint)


def request(
    volume: Volume, specs: Mapping[str, Any], args: Mapping[str, Any], tried: Mapping[str, Any]
) -> PlacementRequest:
    """What is asked for a volume of a type with these extra specs, whose operation has these arguments."""
    return wanted(
        args,
        tried,
        id=volume.id,
        gb=volume.size,
        project_id=volume.project_id,
        extra_specs=specs,
        attributes={"volume": {"size": volume.size, "name": volume.name, "id": volume.id}},
        thick=is_thick(specs),
    )


def lookups(db: Database, server_host: Callable[[str], str | None]) -> Lookups:
    """What filters and weighers ask about volumes and, through `server_host`, about servers."""

    def homes_of(project_id: str, ids: Collection[str]) -> Collection[str]:
        with db.read() as tx:
            statement = own(project_id).select(Volume).where(Volume.id.in_(list(ids)), Volume.host.is_not(None))
            return {volume.backend for volume in tx.scalars(statement)}

    return Lookups(homes_of=homes_of, server_host=server_host, resources_on=lambda: counted(db, Volume))
