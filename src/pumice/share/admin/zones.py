"""Availability zones: those that share services run in."""

from __future__ import annotations

import datetime
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.kernel import services
from pumice.kernel.errors import NotFound
from pumice.share import binaries
from pumice.share.admin.shapes import Zone

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

NAMESPACE = uuid.UUID("0f2c7a55-8d0b-4a83-9a9f-7be0a1a5c1d4")
"""Of the ids of zones, which follow from their names."""


@dataclass(frozen=True, slots=True)
class AvailabilityZone:
    """`created_at` is that of its first service."""

    name: str
    created_at: datetime.datetime
    updated_at: datetime.datetime | None = None

    @property
    def id(self) -> str:
        return str(uuid.uuid5(NAMESPACE, self.name))


def known(tx: Session) -> list[AvailabilityZone]:
    first: dict[str, datetime.datetime] = {}
    for service in services.find(tx, binary=binaries.SHARE):
        name, at = service.availability_zone, service.created_at
        first[name] = min(first.get(name, at), at)
    return [AvailabilityZone(name, at) for name, at in sorted(first.items())]


def name_of(tx: Session, name_or_id: str) -> str:
    """The name of the zone.

    :raises NotFound: there is none
    """
    for zone in known(tx):
        if name_or_id in {zone.name, zone.id}:
            return zone.name
    raise NotFound(f"Availability zone {name_or_id} could not be found.")


def index(req: Request) -> dict[str, Any]:
    with req.service.db.read() as tx:
        return {"availability_zones": req.views(Zone, known(tx))}
