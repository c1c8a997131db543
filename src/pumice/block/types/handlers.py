"""Volume types and who may use them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oslo_db import exception as db_errors
from sqlalchemy import ColumnElement, Select, delete, false
from sqlalchemy.orm import Session

from pumice.block.quotas.resources import type_keys
from pumice.block.types.lookup import default_type
from pumice.block.types.model import DefaultType, VolumeType, VolumeTypeAccess
from pumice.block.types.shapes import (
    OPEN_SPECS,
    READ_SENSITIVE,
    AccessEntry,
    TypeCreated,
    TypeDetail,
    TypeUpdated,
)
from pumice.block.volumes.model import Volume
from pumice.kernel.db.base import new_id
from pumice.kernel.db.filters import dictionary, pairs
from pumice.kernel.db.paging import Filter, Listing
from pumice.kernel.db.scope import Scope, everything
from pumice.kernel.errors import BadRequest, Conflict, NotFound

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

DEFAULT = "default"
"""Stands for the id of the caller's default type."""


def _with_specs(text: str, req: Request) -> ColumnElement[bool]:
    """The filter `extra_specs`: what a caller may not read, it finds nothing by."""
    if not (OPEN_SPECS.issuperset(dictionary(text)) or req.allows_field(READ_SENSITIVE)):
        return false()
    return pairs(VolumeType.extra_specs, text, req.version)


TYPES = Listing(
    VolumeType,
    "volume_type",
    configured=("is_public", "extra_specs"),
    filters=(Filter("extra_specs", _with_specs, since="3.52"),),
    sort={
        "name": VolumeType.name,
        "description": VolumeType.description,
        "is_public": VolumeType.is_public,
        "updated_at": VolumeType.updated_at,
    },
    other=frozenset({"is_public"}),
)


def index(req: Request) -> dict[str, Any]:
    scope, where = _listed(req)
    with req.service.db.read() as tx:
        page = TYPES.page(tx, req, scope=scope, where=where)
    return req.page("volume_types", TypeDetail, page, links_key="volume_type_links")


def _listed(req: Request) -> tuple[Scope, list[ColumnElement[bool]]]:
    """Whose types, and which of them: only admins choose by is_public (true, false, none: both)."""
    word = req.query.get("is_public")
    if word is None or not req.context.is_admin:
        return req.own, []
    if word.lower() == "none":
        return everything(), []
    return everything(), [VolumeType.is_public.is_(req.query.boolean("is_public"))]


def show(req: Request, id: str) -> dict[str, Any]:
    with req.service.db.read() as tx:
        if id == DEFAULT:
            row = default_type(tx, req.service.conf, req.context.project_id)
        else:
            row = req.scope.get(tx, VolumeType, id)
    return {"volume_type": req.view(TypeDetail, row)}


def create(req: Request) -> dict[str, Any]:
    wanted, type_id = req.body.volume_type, new_id()
    check_specs(wanted.extra_specs)

    def work(tx: Session) -> VolumeType:
        row = VolumeType(
            id=type_id,
            name=wanted.name,
            description=wanted.description,
            is_public=wanted.is_public,
            extra_specs=wanted.extra_specs,
        )
        tx.add(row)
        _store(tx, row)
        _notify(tx, req, "create", row)
        return row

    return {"volume_type": req.view(TypeCreated, req.service.db.write(work))}


def update(req: Request, id: str) -> dict[str, Any]:
    changes = req.body.volume_type

    def work(tx: Session) -> VolumeType:
        row = req.scope.get(tx, VolumeType, id)
        for name in ("name", "description", "is_public"):
            if (value := getattr(changes, name)) is not None:
                setattr(row, name, value)
        _store(tx, row)
        _notify(tx, req, "update", row)
        return row

    return {"volume_type": req.view(TypeUpdated, req.service.db.write(work))}


def _store(tx: Session, row: VolumeType) -> None:
    name = row.name
    try:
        tx.flush()
    except db_errors.DBDuplicateEntry as error:
        raise Conflict(f"A volume type named {name} exists already; names are unique.") from error


def remove(req: Request, id: str) -> None:
    def work(tx: Session) -> None:
        row = locked(tx, req.scope, id)
        if row.name == req.service.conf.default_volume_type:
            raise BadRequest(f"Volume type {row.name} is the configured default and cannot be deleted.")
        if _any(tx, everything().columns(DefaultType, DefaultType.project_id), DefaultType.volume_type_id == id):
            raise BadRequest(f"Volume type {row.name} is the default of a project and cannot be deleted.")
        refuse_in_use(tx, row, "deleted")
        tx.execute(delete(VolumeTypeAccess).where(VolumeTypeAccess.type_id == id))
        req.service.quotas.forget(tx, type_keys(id))
        _notify(tx, req, "delete", row)
        tx.delete(row)

    req.service.db.write(work)


def locked(tx: Session, scope: Scope, type_id: str) -> VolumeType:
    """The type, which nobody else changes or makes a volume of until the transaction ends (`lookup`, `hold`).

    :raises NotFound:
    """
    statement: Select[Any] = scope.select(VolumeType).where(VolumeType.id == type_id).with_for_update()
    row: VolumeType | None = tx.scalars(statement).one_or_none()
    if row is None:
        raise NotFound(f"Volume type {type_id} could not be found.")
    return row


def refuse_in_use(tx: Session, row: VolumeType, what: str) -> None:
    """:raises BadRequest: there are volumes of the type"""
    if _any(tx, everything().columns(Volume, Volume.id), Volume.volume_type_id == row.id):
        raise BadRequest(f"Volume type {row.name} is in use: it cannot be {what} while there are volumes of it.")


def _any(tx: Session, statement: Select[Any], condition: ColumnElement[bool]) -> bool:
    return tx.scalar(statement.where(condition).limit(1)) is not None


def check_specs(specs: dict[str, str | None]) -> None:
    """:raises BadRequest: extra specs that exclude one another"""
    wanted = [key for key in ("multiattach", "cacheable") if (specs.get(key) or "").lower() == "<is> true"]
    if len(wanted) == 2:
        raise BadRequest("multiattach and cacheable exclude one another: at most one of them may be '<is> True'.")


def _notify(tx: Session, req: Request, event: str, row: VolumeType) -> None:
    described = {
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "is_public": row.is_public,
        "extra_specs": row.extra_specs,
    }
    emit(tx, req, f"volume_type.{event}", {"volume_types": described})


def emit(tx: Session, req: Request, event_type: str, payload: dict[str, Any]) -> None:
    """Tell of a change that no operation makes: the request's id stands for the operation's."""
    req.service.notifier.emit(tx, req.context.request_id, event_type, payload)


def access(req: Request, type_id: str) -> dict[str, Any]:
    with req.service.db.read() as tx:
        row = req.scope.get(tx, VolumeType, type_id)
        if row.is_public:
            raise NotFound(f"Volume type {row.name} is public: there is no list of who may use it.")
        entries = everything().select(VolumeTypeAccess).where(VolumeTypeAccess.type_id == type_id)
        rows = tx.scalars(entries.order_by(VolumeTypeAccess.project_id)).all()
    return {"volume_type_access": req.views(AccessEntry, rows)}


def add_access(req: Request, id: str) -> None:
    entry = {"type_id": id, "project_id": req.body.project}

    def work(tx: Session) -> None:
        row = _private(tx, req, id)
        if tx.get(VolumeTypeAccess, entry):
            raise Conflict(f"Project {req.body.project} may use volume type {row.name} already.")
        tx.add(VolumeTypeAccess(**entry))
        _notify_access(tx, req, "add", id)

    req.service.db.write(work)


def remove_access(req: Request, id: str) -> None:
    def work(tx: Session) -> None:
        row = _private(tx, req, id)
        entry = tx.get(VolumeTypeAccess, {"type_id": id, "project_id": req.body.project})
        if entry is None:
            raise NotFound(f"Volume type {row.name} is not shared with project {req.body.project}.")
        tx.delete(entry)
        _notify_access(tx, req, "remove", id)

    req.service.db.write(work)


def _private(tx: Session, req: Request, type_id: str) -> VolumeType:
    row = locked(tx, req.scope, type_id)
    if row.is_public:
        raise BadRequest(f"Volume type {row.name} is public: everybody may use it.")
    return row


def _notify_access(tx: Session, req: Request, event: str, type_id: str) -> None:
    payload = {"volume_type_id": type_id, "project_id": req.body.project}
    emit(tx, req, f"volume_type_project.access.{event}", payload)
