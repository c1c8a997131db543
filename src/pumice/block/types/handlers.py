"""Volume types: what the kernel's types leave to block storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Select, false
from sqlalchemy.orm import Session

from pumice.block.quotas.resources import type_keys
from pumice.block.types.lookup import default_type
from pumice.block.types.model import DefaultType, VolumeType
from pumice.block.types.shapes import (
    OPEN_SPECS,
    READ_SENSITIVE,
    AccessEntry,
    TypeCreated,
    TypeDetail,
    TypeUpdated,
    visible_specs,
)
from pumice.block.volumes.model import Volume
from pumice.kernel.db.filters import dictionary, pairs
from pumice.kernel.db.paging import Filter, Listing
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import BadRequest
from pumice.kernel.types import TypesOf

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
    scope, where = VOLUME_TYPES.listed(req)
    with req.service.db.read() as tx:
        page = TYPES.page(tx, req, scope=scope, where=where)
    return req.page("volume_types", TypeDetail, page, links_key="volume_type_links")


def show(req: Request, id: str) -> dict[str, Any]:
    with req.service.db.read() as tx:
        if id == DEFAULT:
            row = default_type(tx, req.service.conf, req.context.project_id)
        else:
            row = req.scope.get(tx, VolumeType, id)
    return {"volume_type": req.view(TypeDetail, row)}


def create(req: Request) -> Any:
    asked = req.body.volume_type
    return VOLUME_TYPES.create(req, asked, asked.extra_specs, lambda row: {"volume_type": req.view(TypeCreated, row)})


def update(req: Request, id: str) -> dict[str, Any]:
    changes = {name: value for name, value in req.body.volume_type.given().items() if value is not None}
    return {"volume_type": req.view(TypeUpdated, VOLUME_TYPES.update(req, id, **changes))}


def _refuse_removal(tx: Session, req: Request, row: VolumeType) -> None:
    if row.name == req.service.conf.default_volume_type:
        raise BadRequest(f"Volume type {row.name} is the configured default and cannot be deleted.")
    if _any(tx, everything().columns(DefaultType, DefaultType.project_id), DefaultType.volume_type_id == row.id):
        raise BadRequest(f"Volume type {row.name} is the default of a project and cannot be deleted.")
    _refuse_in_use(tx, row, "deleted")


def _refuse_in_use(tx: Session, row: VolumeType, what: str) -> None:
    if _any(tx, everything().columns(Volume, Volume.id), Volume.volume_type_id == row.id):
        raise BadRequest(f"Volume type {row.name} is in use: it cannot be {what} while there are volumes of it.")


def _any(tx: Session, statement: Select[Any], condition: ColumnElement[bool]) -> bool:
    return tx.scalar(statement.where(condition).limit(1)) is not None


def check_specs(specs: dict[str, str | None]) -> None:
    """:raises BadRequest: extra specs that exclude one another"""
    wanted = [key for key in ("multiattach", "cacheable") if (specs.get(key) or "").lower() == "<is> true"]
    if len(wanted) == 2:
        raise BadRequest("multiattach and cacheable exclude one another: at most one of them may be '<is> True'.")


VOLUME_TYPES = TypesOf(
    model=VolumeType,
    key="volume_type",
    access_view=AccessEntry,
    visible=visible_specs,
    quota_keys=type_keys,
    check_specs=check_specs,
    check_change=lambda tx, row: _refuse_in_use(tx, row, "given other extra specs"),
    check_spec_removal=lambda _req, _key: None,
    check_removal=_refuse_removal,
    public_refusal=BadRequest,
    every_word="none",
)
