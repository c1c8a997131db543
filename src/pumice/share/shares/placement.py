"""Where a new share goes: the share service's use of the scheduler."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy.orm import Session

from pumice.kernel.db.engine import Database
from pumice.kernel.db.scope import everything
from pumice.kernel.operations.worker import Run
from pumice.kernel.scheduling.placing import counted, is_thick, wanted
from pumice.kernel.scheduling.plugins import Lookups
from pumice.kernel.scheduling.request import PlacementRequest
from pumice.kernel.types import specs_of
from pumice.share.shares.model import Share, ShareInstance
from pumice.share.types.model import ShareType
from pumice.share.types.specs import wanted_of_pools


def request_of(tx: Session, run: Run, instance: ShareInstance) -> PlacementRequest:
    """What the scheduler is asked for a share that is being created."""
    share = everything().get(tx, Share, instance.share_id)
    specs = specs_of(tx, ShareType, share.share_type_id)
    return request(share, specs, run.args, run.checkpoint)


def request(
    share: Share, specs: Mapping[str, Any], args: Mapping[str, Any], tried: Mapping[str, Any]
) -> PlacementRequest:
    """What is asked for a share of a type with these extra specs, whose operation has these arguments."""
    return wanted(
        args,
        tried,
        id=share.id,
        gb=share.size,
        project_id=share.project_id,
        extra_specs=wanted_of_pools(specs),
        attributes={"share": {"size": share.size, "name": share.name, "id": share.id, "proto": share.proto}},
        thick=is_thick(specs),
    )


def lookups(db: Database) -> Lookups:
    """What filters and weighers ask about shares."""

    def homes_of(_project_id: str, ids: Collection[str]) -> Collection[str]:
        # Who named them may change their metadata (`shares.create`): they need not be of the new share's project.
        with db.read() as tx:
            of_shares = (ShareInstance.share_id.in_(list(ids)), ShareInstance.host.is_not(None))
            return set(tx.scalars(everything().columns(ShareInstance, ShareInstance.host).where(*of_shares)))

    return Lookups(homes_of=homes_of, resources_on=lambda: counted(db, ShareInstance))
