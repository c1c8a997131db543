"""Accepting a new share: what it is made of, of which type, how large and where; then one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import set_committed_value

from pumice.kernel import moves
from pumice.kernel.db.base import new_id
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import BadRequest, Forbidden, NotFound
from pumice.kernel.types import find_type
from pumice.share.admin import zones
from pumice.share.message_codes import Action, Detail
from pumice.share.quotas.resources import share_charge, size_bounds
from pumice.share.shares import affinity, operations, rules
from pumice.share.shares.metadata import RULE as ADMIN_METADATA
from pumice.share.shares.metadata import refuse_admin_keys
from pumice.share.shares.model import Share, ShareInstance
from pumice.share.shares.moving import active
from pumice.share.shares.placement import request
from pumice.share.shares.queries import dress
from pumice.share.shares.shapes import NewShare, ShareDetail
from pumice.share.snapshots.model import ShareSnapshot, SnapshotInstance
from pumice.share.snapshots.moving import present
from pumice.share.types import specs as type_specs
from pumice.share.types.lookup import default_type
from pumice.share.types.model import ShareType
from pumice.share.types.specs import Specs

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request
    from pumice.kernel.scheduling.request import PlacementRequest


@dataclass(frozen=True, slots=True)
class Source:
    """The snapshot that a share is made from; its instance, the share that it is of, and where that lies."""

    snapshot: ShareSnapshot
    instance: SnapshotInstance
    parent: Share
    origin: ShareInstance


def create(req: Request) -> Any:
    """Accept `POST /shares` and answer with the share as it is then, `creating`."""
    asked: NewShare = req.body.share
    if asked.is_public:
        req.authorize("share:create_public_share")
    refuse_admin_keys(req, {}, asked.metadata or {}, req.service.conf.admin_only_metadata, ADMIN_METADATA)
    hints = _hints(req, asked)
    ids = new_id(), new_id(), new_id()
    return req.once(
        lambda tx: _accept(tx, req, asked, hints, ids), lambda share: {"share": req.view(ShareDetail, share)}
    )


def _accept(tx: Session, req: Request, asked: NewShare, hints: Mapping[str, Any], ids: tuple[str, str, str]) -> Share:
    service, conf = req.service, req.service.conf
    share_id, instance_id, operation_id = ids
    _check_keys(asked, conf.enabled_share_protocols)
    for name in affinity.HINTS:
        for named in hints[name]:
            other = req.get(tx, Share, named)
            req.authorize("share:update_share_metadata", {"project_id": other.project_id, "user_id": other.user_id})
    source = _source(tx, req, asked)
    share_type = _type(tx, req, asked, source)
    specs = share_type.extra_specs if share_type else {}
    _check_specs(specs, asked)
    size = _size(asked, source)
    type_specs.check_least(specs, size)
    type_specs.check_most(specs, size)
    zones = _zones(tx, req, asked, source, specs)
    share = new_row(req, asked, share_type, id=share_id, size=size)
    type_id = share.share_type_id
    instance = ShareInstance(
        id=instance_id,
        project_id=share.project_id,
        user_id=share.user_id,
        share_id=share.id,
        share_type_id=type_id,
        status=share.status,
        availability_zone=share.availability_zone,
        progress=share.progress,
    )
    share.meta = share.meta | affinity.told(hints)
    tx.add(share)
    tx.flush()
    affinity.tell(tx, share.id, hints)
    # From here on other creations wait for this one.
    sizes = dict.fromkeys(size_bounds(type_id, share.user_id), size)
    service.quotas.charge(tx, share.project_id, share_charge(size, type_id, share.user_id), sizes)
    if refusal := _hopeless(share_type, asked):
        _fail(tx, req, share, instance, refusal)
        tx.add(instance)
    else:
        instance.operation_id = operation_id
        args = {
            "share_id": share_id,
            "source": source.instance.id if source else None,
            "attempts": conf.scheduler_max_attempts,
            "zones": sorted(zones),
            "only": _only(req, hints, source),
            "hints": {name: hints[name] for name in affinity.HINTS},
        }
        _submit(tx, req, instance, source, args=args, wanted=request(share, specs, args, {}))
    tx.flush()
    for name, value in (("type_name", share_type and share_type.name), ("access_rules_status", "active")):
        set_committed_value(share, name, value)
    dress(tx, req, [share])
    return share


def _submit(
    tx: Session,
    req: Request,
    instance: ShareInstance,
    source: Source | None,
    *,
    args: Mapping[str, Any],
    wanted: PlacementRequest,
) -> None:
    """Add an instance that is placed, or that the scheduler is to place, and have it made."""
    service, operation_id = req.service, instance.operation_id or ""
    queue, step = service.placer.at_once(tx, instance, wanted)
    tx.add(instance)
    service.journal.submit(
        tx,
        operations.CREATE,
        req.context,
        instance,
        id=operation_id,
        queue=queue,
        step=step,
        args=args,
        holds=[source.snapshot.id, source.parent.id] if source else [],
    )
    req.reply_headers["X-Operation-Id"] = operation_id


def _hints(req: Request, asked: NewShare) -> dict[str, Any]:
    hints = asked.scheduler_hints or {}
    if hints.get("only_host") and not (req.context.is_admin and req.version >= "2.67"):
        raise BadRequest("scheduler_hints.only_host is refused: it is for administrators, from version 2.67 on.")
    return {name: affinity.named(hints, name) for name in affinity.HINTS} | {"only_host": hints.get("only_host")}


def _only(req: Request, hints: Mapping[str, Any], source: Source | None) -> str | None:
    """The backend or pool that alone will do: a share from a snapshot is made where the snapshot is."""
    if source is None:
        wanted: str | None = hints["only_host"]
        return wanted
    return source.origin.backend if req.service.conf.use_scheduler_creating_share_from_snapshot else source.origin.host


def _check_keys(asked: NewShare, enabled: Iterable[str]) -> None:
    protocols = [one.upper() for one in enabled]
    if asked.share_proto not in protocols:
        raise BadRequest(f"share_proto {asked.share_proto} is refused: {', '.join(protocols)} are enabled here.")
    if asked.share_type and asked.volume_type:
        raise BadRequest("share_type and volume_type are refused together: they are two names of one key.")
    if asked.share_group_id:
        raise NotFound(f"Share group {asked.share_group_id} could not be found.")
    if asked.encryption_key_ref:
        raise BadRequest("encryption_key_ref is refused: it needs a share type with driver_handles_share_servers true.")


def _source(tx: Session, req: Request, asked: NewShare) -> Source | None:
    if not asked.snapshot_id:
        return None
    snapshot = req.get(tx, ShareSnapshot, asked.snapshot_id)
    usable = moves.Guard(
        ShareSnapshot.status == "available",
        f"Snapshot {snapshot.id} has status {snapshot.status}: a share is made of an available one.",
    )
    moves.touch(tx, ShareSnapshot, snapshot.id, guards=[usable])
    parent = everything().get(tx, Share, snapshot.share_id)
    if req.version >= "2.24" and not parent.create_share_from_snapshot_support:
        raise BadRequest(f"Snapshot {snapshot.id} is refused: no shares can be made from those of share {parent.id}.")
    if parent.proto != asked.share_proto:
        raise BadRequest(f"share_proto {asked.share_proto} is refused: the snapshot is of a share of {parent.proto}.")
    origin = active(tx, parent.id)
    return Source(snapshot, present(tx, snapshot.id), parent, origin)


def _type(tx: Session, req: Request, asked: NewShare, source: Source | None) -> ShareType | None:
    """The type asked for, that of the snapshot's share, or the default one; None where there is none."""
    name = asked.share_type or asked.volume_type
    inherited = source.parent.share_type_id if source else None
    if name:
        found = find_type(tx, ShareType, req.scope, name, hold=True)
        if source and found.id != inherited:
            raise BadRequest(f"share_type {name} is refused: a share from a snapshot has the type of its parent.")
        return found
    if source:
        return everything().find(tx, ShareType, inherited or "")
    return default_type(tx, req.service.conf, hold=True)


def _check_specs(specs: Specs, asked: NewShare) -> None:
    if type_specs.flag(specs, type_specs.HANDLES_SERVERS) and not (asked.share_network_id or asked.snapshot_id):
        raise BadRequest("The share type needs a share network (driver_handles_share_servers is true).")
    if type_specs.flag(specs, type_specs.HANDLES_SERVERS) or (asked.share_network_id and asked.snapshot_id):
        raise NotFound(f"Share network {asked.share_network_id} could not be found.")
    type_specs.check_qos(specs)


def _hopeless(share_type: ShareType | None, asked: NewShare) -> Detail | None:
    """What makes a share fail that is accepted nevertheless."""
    if share_type is None:
        return Detail.NO_DEFAULT_TYPE
    return Detail.NETWORK_NOT_SUPPORTED if asked.share_network_id else None


def _fail(tx: Session, req: Request, share: Share, instance: ShareInstance, detail: Detail) -> None:
    share.status = instance.status = "error"
    req.service.messages.record(
        tx,
        project_id=share.project_id,
        request_id=req.context.request_id,
        resource_type="SHARE",
        resource_id=share.id,
        action=Action.CREATE,
        detail=detail,
    )


def _size(asked: NewShare, source: Source | None) -> int:
    if not asked.size:
        if source is None:
            raise BadRequest("size is refused: a share without a snapshot needs 1 GiB or more.")
        return source.snapshot.size
    if source and asked.size < source.snapshot.size:
        raise BadRequest(f"size {asked.size} is refused: the snapshot has {source.snapshot.size} GiB.")
    return asked.size


def _zones(tx: Session, req: Request, asked: NewShare, source: Source | None, specs: Specs) -> frozenset[str]:
    """The zones that will do; none means any."""
    allowed = type_specs.zones(specs) if req.version >= "2.48" else []
    origin = source.origin.availability_zone if source else None
    free = req.service.conf.use_scheduler_creating_share_from_snapshot
    zone = zones.name_of(tx, asked.availability_zone) if asked.availability_zone and req.version >= "2.1" else None
    if zone and origin and zone != origin and not free:
        raise BadRequest(f"availability_zone {zone} is refused: the snapshot is in {origin}, where its shares stay.")
    zone = zone or (None if free else origin)
    if zone and allowed and zone not in allowed:
        raise BadRequest(f"availability_zone {zone} is refused: the share type allows {', '.join(sorted(allowed))}.")
    return frozenset({zone} if zone else allowed)


def new_row(
    req: Request, asked: NewShare, share_type: ShareType | None, status: str = "creating", **given: Any
) -> Share:
    """The row of a share that is to be; it can do what its type says now."""
    specs: Specs = share_type.extra_specs if share_type else {}
    project_id = req.context.project_id
    if not project_id:
        raise Forbidden("A share belongs to a project: a token that is scoped to one is needed.")
    prefix = specs.get(type_specs.MOUNT_POINT_PREFIX, req.service.conf.default_mount_point_prefix)
    named = asked.mount_point_name
    return Share(
        project_id=project_id,
        user_id=req.context.user_id,
        status=status,
        progress="0%",
        name=asked.name,
        description=asked.description,
        proto=asked.share_proto,
        share_type_id=share_type.id if share_type else None,
        snapshot_id=asked.snapshot_id or None,
        is_public=asked.is_public,
        availability_zone=asked.availability_zone if req.version >= "2.1" else None,
        replication_type=specs.get(type_specs.REPLICATION),
        mount_point_name=named and rules.mount_point(specs, named, str(prefix).format(project_id=project_id)),
        meta=asked.metadata or {},
        **{name: type_specs.flag(specs, name) for name in type_specs.CAPABILITIES},
        **given,
    )
