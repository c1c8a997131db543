"""Shares that a backend has already: taking them over, and letting go of them (section 5 of the API)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import field
from sqlalchemy import exists
from sqlalchemy.orm import Session

from pumice.kernel import moves, services
from pumice.kernel.api.fields import Since
from pumice.kernel.api.routes import ADMIN, Route
from pumice.kernel.api.shapes import Alias, Shape
from pumice.kernel.api.values import Boolean, Name, Text, shown
from pumice.kernel.db.base import new_id
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import BadRequest, Conflict, NotFound, Unprocessable
from pumice.kernel.scheduling import pool
from pumice.kernel.types import find_type
from pumice.share import binaries
from pumice.share.backends import queue_of
from pumice.share.locks.placing import unlocked
from pumice.share.quotas.resources import share_charge
from pumice.share.renamed import renamed
from pumice.share.shares import rules
from pumice.share.shares.create import new_row
from pumice.share.shares.manage_operations import MANAGE, UNMANAGE
from pumice.share.shares.model import ExportLocation, Share, ShareInstance
from pumice.share.shares.moving import begin
from pumice.share.shares.queries import dress
from pumice.share.shares.shapes import NewShare, ShareDetail
from pumice.share.types.lookup import default_type
from pumice.share.types.model import ShareType
from pumice.share.types.specs import HANDLES_SERVERS, check_qos, flag

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

LONGEST_PROTOCOL = 16


class ManagedShare(Shape):
    """The handler looks at what must be given, as it is refused in another way than the rest."""

    export_path: Any = None
    service_host: Any = None
    protocol: Any = None
    share_type: Text | None = None
    name: Annotated[Name | None, Alias("display_name")] = None
    description: Annotated[Text | None, Alias("display_description")] = None
    is_public: Annotated[Boolean, Since("2.8")] = False
    driver_options: dict[str, Any] = field(default_factory=dict)
    share_server_id: Annotated[Text | None, Since("2.49")] = None
    mount_point_name: Annotated[Text | None, Since("2.92")] = None


class ManageShare(Shape, missing=Unprocessable):
    share: ManagedShare


def manage(req: Request) -> Any:
    """Make a share's rows and have its backend take it over, which knows how large it is and by what it is exported."""
    asked: ManagedShare = req.body.share
    path = asked.export_path.get("path") if isinstance(asked.export_path, dict) else asked.export_path
    path, host, protocol = (
        _needed(name, value)
        for name, value in (
            ("export_path", path),
            ("service_host", asked.service_host),
            ("protocol", asked.protocol),
        )
    )
    if len(protocol) > LONGEST_PROTOCOL:
        raise BadRequest(f"protocol {shown(protocol)} is refused: at most {LONGEST_PROTOCOL} characters are allowed.")
    if asked.is_public:
        req.authorize("share:create_public_share")
    wanted = NewShare(
        share_proto=protocol.upper(),
        name=asked.name,
        description=asked.description,
        is_public=asked.is_public,
        mount_point_name=asked.mount_point_name,
    )
    ids = new_id(), new_id(), new_id()
    args = {"share_id": ids[0], "export_path": path, "driver_options": asked.driver_options}

    def work(tx: Session) -> Share:
        zone = _zone(tx, req, host)
        return _accept(tx, req, asked, wanted, ids=ids, args=args, host=host, availability_zone=zone)

    return req.once(work, lambda share: {"share": req.view(ShareDetail, share)})


def _needed(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Unprocessable(f"share.{name} is needed: text that is not empty is allowed.")
    return value.strip()


def _zone(tx: Session, req: Request, host: str) -> str:
    """The zone of the backend that a pool is of.

    :raises ApiError: it is no pool's name, nobody serves it, or who does is down
    """
    backend, hash_, name = host.partition("#")
    if not (hash_ and name):
        raise BadRequest(f"service_host {shown(host)} is refused: host@backend#pool is allowed.")
    serving = [row for row in services.find(tx, binary=binaries.SHARE) if backend in {row.host, row.cluster}]
    if not serving:
        raise NotFound(f"Host {host} could not be found.")
    if not any(services.up(row, req) for row in serving):
        raise BadRequest(f"service_host {host} is refused: its service is down.")
    # Two who would manage the same path at once meet at the pool's row.
    if not pool.claim(tx, host, 0):
        raise NotFound(f"Pool {host} could not be found.")
    return serving[0].availability_zone


def _accept(
    tx: Session,
    req: Request,
    asked: ManagedShare,
    wanted: NewShare,
    *,
    ids: tuple[str, str, str],
    args: dict[str, Any],
    **place: Any,
) -> Share:
    share_id, instance_id, operation_id = ids
    share_type = _type(tx, req, asked)
    path, host = args["export_path"], place["host"]
    here = exists().where(ShareInstance.id == ExportLocation.share_instance_id, ShareInstance.host == host)
    known = everything().columns(ExportLocation, ExportLocation.id).where(ExportLocation.path == path, here)
    if tx.scalar(known.limit(1)) is not None:
        raise Conflict(f"{path} on {host} is a share already.")
    share = new_row(req, wanted, share_type, "manage_starting", id=share_id, size=0, host=host)
    share.availability_zone = place["availability_zone"]
    req.service.quotas.charge(tx, share.project_id, share_charge(0, share_type.id, share.user_id))
    owner = {"project_id": share.project_id, "user_id": share.user_id, "share_id": share_id}
    instance = ShareInstance(
        id=instance_id,
        share_type_id=share_type.id,
        status=share.status,
        operation_id=operation_id,
        progress=share.progress,
        **owner,
        **place,
    )
    for row in (share, instance, ExportLocation(share_instance_id=instance_id, path=path, **owner)):
        tx.add(row)
        tx.flush()
    req.service.journal.submit(
        tx,
        MANAGE,
        req.context,
        instance,
        id=operation_id,
        queue=queue_of(instance.backend),
        args=args,
    )
    req.reply_headers["X-Operation-Id"] = operation_id
    tx.refresh(share)
    dress(tx, req, [share])
    return share


def _type(tx: Session, req: Request, asked: ManagedShare) -> ShareType:
    if asked.share_type:
        found: ShareType | None = find_type(tx, ShareType, req.scope, asked.share_type, hold=True)
    else:
        found = default_type(tx, req.service.conf, hold=True)
    if found is None:
        raise BadRequest("share_type is needed: there is no default share type.")
    if flag(found.extra_specs, HANDLES_SERVERS):
        raise BadRequest(f"share_type {found.name} is refused: it needs a share server (share_server_id), none exists.")
    if asked.share_server_id:
        raise BadRequest("share_server_id is refused: the share type has driver_handles_share_servers false.")
    check_qos(found.extra_specs)
    return found


def unmanage(req: Request, share: Share) -> None:
    """Forget a share that the backend keeps."""
    guards = (rules.NOTHING_LEFT, rules.NOT_READ, rules.PLACED, unlocked(ShareInstance.share_id))
    operation_id = new_id()

    def work(tx: Session) -> None:
        row = moves.lock(tx, Share, share.id)
        rules.refuse_recycled(row)
        rules.refuse_busy(row)
        begin(tx, req, UNMANAGE, row, id=operation_id, guards=guards)

    req.service.db.write(work)


ROUTES = [
    *renamed(
        "/os-share-manage",
        Route(
            "POST",
            "/shares/manage",
            manage,
            "share:manage",
            ADMIN,
            body=ManageShare,
            creates=True,
            answer={"share": ShareDetail},
        ),
    ),
    Route(
        "POST",
        "/shares/{id}/action",
        unmanage,
        "share:unmanage",
        ADMIN,
        since="2.7",
        action="unmanage",
        load=Share,
        success=202,
    ),
    Route(
        "POST",
        "/os-share-unmanage/{id}/unmanage",
        unmanage,
        "share:unmanage",
        ADMIN,
        until="2.6",
        load=Share,
        success=202,
    ),
]
