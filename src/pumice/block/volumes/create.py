"""Accepting a new volume: what it is made of, of which type, how large and where; then one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import set_committed_value

from pumice.block.admin import binaries
from pumice.block.quotas.resources import PER_VOLUME, volume_charge
from pumice.block.snapshots.model import Snapshot
from pumice.block.types.lookup import default_type
from pumice.block.types.model import VolumeType
from pumice.block.volumes import operations, rules
from pumice.block.volumes.model import Volume
from pumice.block.volumes.placement import request
from pumice.block.volumes.queries import dress
from pumice.block.volumes.shapes import CreateVolume, NewVolume, VolumeView
from pumice.kernel import moves, services
from pumice.kernel.db.base import new_id
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import BadRequest, NotFound, ServerFault
from pumice.kernel.steps import refuse_incapable
from pumice.kernel.types import find_type

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request
    from pumice.kernel.service import Service


@dataclass(frozen=True, slots=True)
class Source:
    """What a volume is made from: a snapshot, or another volume. `origin` is the volume that it comes from."""

    origin: Volume
    snapshot: Snapshot | None = None

    @property
    def size(self) -> int:
        return self.snapshot.size if self.snapshot else self.origin.size

    @property
    def held(self) -> str:
        return self.snapshot.id if self.snapshot else self.origin.id


def create(req: Request) -> Any:
    """Accept `POST /volumes` and answer with the volume as it is then, `creating`."""
    body: CreateVolume = req.body
    rules.check_hints(body.hints)
    _check_keys(body.volume)
    ids = new_id(), new_id()
    return req.once(
        lambda tx: _accept(tx, req, body.volume, body.hints or {}, ids),
        lambda volume: {"volume": req.view(VolumeView, volume)},
    )


def _accept(tx: Session, req: Request, asked: NewVolume, hints: Mapping[str, Any], ids: tuple[str, str]) -> Volume:
    service, (volume_id, operation_id) = req.service, ids
    source = _source(tx, req, asked)
    volume_type = _type(tx, req, asked, source)
    size = _size(asked, source)
    rules.check_size(volume_type.extra_specs, size)
    zones = _zones(tx, service, asked, source, volume_type)
    given = {"id": volume_id, "operation_id": operation_id, "size": size, "availability_zone": min(zones)}
    volume = _row(req, asked, source, volume_type, **given)
    args = {
        "zones": sorted(zones),
        "hints": dict(hints),
        "only": source.origin.backend if source else None,
        "attempts": service.conf.scheduler_max_attempts,
    }
    held = _hold(tx, source)
    # From here on other creations wait for this one.
    charge = volume_charge(size, volume_type.id)
    service.quotas.charge(tx, volume.project_id, charge, sizes={PER_VOLUME: size})
    queue, step = service.placer.at_once(tx, volume, request(volume, volume_type.extra_specs, args, {}))
    tx.add(volume)
    service.journal.submit(
        tx,
        operations.CREATE,
        req.context,
        volume,
        id=operation_id,
        queue=queue,
        step=step,
        args=args,
        holds=held,
    )
    req.reply_headers["X-Operation-Id"] = operation_id
    set_committed_value(volume, "type_name", volume_type.name)
    dress(tx, [volume])
    return volume


def _project(req: Request) -> str:
    if not req.context.project_id:
        raise BadRequest("A volume belongs to a project: a token that is scoped to one is needed.")
    return req.context.project_id


def _check_keys(asked: NewVolume) -> None:
    if asked.multiattach:
        raise BadRequest("multiattach is refused: it comes from the volume type (multiattach='<is> True').")
    sources = {
        "snapshot_id": asked.snapshot_id,
        "source_volid": asked.source_volid,
        "imageRef": asked.image_id,
        "backup_id": asked.backup_id,
    }
    given = [name for name, value in sources.items() if value]
    if len(given) > 1:
        raise BadRequest(f"{' and '.join(given)} are refused together: a volume has one source at most.")
    if asked.image_id:
        raise BadRequest(f"imageRef {asked.image_id} is refused: no image service is configured.")
    unknown = {"Backup": asked.backup_id, "Group": asked.group_id, "Consistency group": asked.consistencygroup_id}
    for kind, wanted in unknown.items():
        if wanted:
            raise NotFound(f"{kind} {wanted} could not be found.")


def _source(tx: Session, req: Request, asked: NewVolume) -> Source | None:
    if asked.snapshot_id:
        snapshot = req.scope.get(tx, Snapshot, asked.snapshot_id)
        return Source(everything().get(tx, Volume, snapshot.volume_id), snapshot)
    if asked.source_volid:
        return Source(req.scope.get(tx, Volume, asked.source_volid))
    return None


def _hold(tx: Session, source: Source | None) -> list[str]:
    """Have the source stay as it is until the volume is made from it."""
    if source is None:
        return []
    if source.snapshot:
        refuse_incapable(tx, source.origin.host, "snapshots", "make volumes of snapshots")
        usable = moves.Guard(
            Snapshot.status == "available",
            f"Snapshot {source.held} has status {source.snapshot.status}: a volume is made of an available one.",
        )
        moves.touch(tx, Snapshot, source.held, guards=[usable])
    else:
        refuse_incapable(tx, source.origin.host, "clones", "clone volumes")
        usable = moves.Guard(
            Volume.status.in_(("available", "in-use")),
            f"Volume {source.held} has status {source.origin.status}: "
            "a copy is made of a volume that is available or in-use.",
        )
        moves.touch(tx, Volume, source.held, guards=[usable, rules.PLACED])
    return [source.held]


def _type(tx: Session, req: Request, asked: NewVolume, source: Source | None) -> VolumeType:
    inherited = source.origin.volume_type_id if source else None
    if asked.volume_type:
        found = find_type(tx, VolumeType, req.scope, asked.volume_type, hold=True)
    elif inherited:
        found = everything().get(tx, VolumeType, inherited)
    else:
        found = _default_type(tx, req)
    if inherited and found.id != inherited:
        _check_other_type(tx, found, everything().get(tx, VolumeType, inherited))
    if rules.wants_multiattach(found.extra_specs):
        req.authorize("volume:multiattach")
    return found


def _default_type(tx: Session, req: Request) -> VolumeType:
    try:
        return default_type(tx, req.service.conf, req.context.project_id, hold=True)
    except NotFound as error:
        # The caller named nothing that is missing: the operator did.
        raise ServerFault(error.message) from error


def _check_other_type(tx: Session, wanted: VolumeType, of_source: VolumeType) -> None:
    """A copy may have another type than its source if both lie on the same backend."""
    key = "volume_backend_name"
    if wanted.extra_specs.get(key) == of_source.extra_specs.get(key):
        return
    if len(services.find(tx, binary=binaries.VOLUME)) > 1:
        raise BadRequest(
            f"Volume type {wanted.name} is refused: the source has type {of_source.name}, "
            "and a copy needs a type with the same volume_backend_name."
        )


def _size(asked: NewVolume, source: Source | None) -> int:
    if asked.size is None:
        if source is None:
            raise BadRequest("size is missing: it is needed for a volume without a source (GiB).")
        return source.size
    if source and asked.size < source.size:
        raise BadRequest(f"size {asked.size} is refused: the source has {source.size} GiB, so that is the least.")
    return asked.size


def _zones(
    tx: Session, service: Service, asked: NewVolume, source: Source | None, volume_type: VolumeType
) -> frozenset[str]:
    """The zones that will do; the first step of the zone chain that says something decides."""
    conf = service.conf
    allowed = rules.zones_of(volume_type.extra_specs)
    origin = source.origin.availability_zone if source and conf.cloned_volume_same_az else None
    if asked.availability_zone:
        zone = _known_zone(tx, service, asked.availability_zone)
    elif origin:
        zone = origin
    elif allowed:
        return frozenset(allowed)
    else:
        zone = conf.default_availability_zone or conf.storage_availability_zone
    if origin and zone != origin:
        raise BadRequest(f"availability_zone {zone} is refused: the source is in {origin}, where its copies stay.")
    if allowed and zone not in allowed:
        raise BadRequest(_refused_zone(zone, allowed, f"volume type {volume_type.name}"))
    return frozenset({zone})


def _known_zone(tx: Session, service: Service, zone: str) -> str:
    known = services.zones(tx, binary=binaries.VOLUME)
    if zone in known:
        return zone
    if service.conf.allow_availability_zone_fallback:
        fallback: str = service.conf.default_availability_zone or service.conf.storage_availability_zone
        return fallback
    raise BadRequest(_refused_zone(zone, known, "this cloud"))


def _refused_zone(zone: str, allowed: Iterable[str], where: str) -> str:
    return f"availability_zone {zone} is refused: the zones of {where} are {', '.join(sorted(allowed)) or 'none yet'}."


def _row(req: Request, asked: NewVolume, source: Source | None, volume_type: VolumeType, **given: Any) -> Volume:
    specs: dict[str, Any] = volume_type.extra_specs
    replicated = rules.is_true(specs.get("replication_enabled"))
    return Volume(
        project_id=_project(req),
        user_id=req.context.user_id,
        status="creating",
        name=asked.name,
        description=asked.description,
        volume_type_id=volume_type.id,
        snapshot_id=asked.snapshot_id,
        source_volid=asked.source_volid,
        multiattach=rules.wants_multiattach(specs),
        replication_status="enabled" if replicated else "disabled",
        bootable=source.origin.bootable if source else False,
        image_meta=source.origin.image_meta if source else None,
        meta=asked.metadata or {},
        **given,
    )
