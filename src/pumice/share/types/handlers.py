"""Share types: what the kernel's types leave to shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, and_, false, func, or_
from sqlalchemy.orm import Session

from pumice.kernel.api.values import FALSE_WORDS, TRUE_WORDS
from pumice.kernel.db.filters import dictionary, pairs
from pumice.kernel.db.paging import Filter, Listing
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import BadRequest, Conflict, Forbidden, NotFound
from pumice.kernel.types import TypesOf
from pumice.share.quotas.resources import type_keys
from pumice.share.shares.model import ShareInstance
from pumice.share.types import specs
from pumice.share.types.lookup import default_type
from pumice.share.types.model import ShareType
from pumice.share.types.shapes import AccessEntry, TypeDetail, visible_specs

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

FILTER_FROM, DESCRIPTION_FROM, OPTIONAL_SNAPSHOTS_FROM = "2.43", "2.41", "2.24"


def _with_specs(text: str, req: Request) -> ColumnElement[bool]:
    """The filter `extra_specs`: what a caller may not read, it finds nothing by."""
    if req.version < FILTER_FROM:
        raise BadRequest(f"The filter extra_specs is there from {FILTER_FROM} on.")
    wanted = dictionary(text)
    if not (req.context.is_admin or specs.OPEN.issuperset(wanted)):
        return false()
    flags_and_zones = {*specs.BOOLEAN, specs.ZONES}
    free = {key: value for key, value in wanted.items() if key not in flags_and_zones}
    flags = [_has_flag(key, str(value)) for key, value in wanted.items() if key in specs.BOOLEAN]
    zones = [_allows(zone) for zone in specs.zones({specs.ZONES: str(wanted.get(specs.ZONES, ""))})]
    return and_(pairs(ShareType.extra_specs, repr(free), req.version), *flags, *zones)


def _allows(zone: str) -> ColumnElement[bool]:
    """A type that names no zones allows all."""
    named = ShareType.extra_specs[specs.ZONES].as_string()
    return or_(named.is_(None), ("," + named + ",").contains(f",{zone},", autoescape=True))


def _has_flag(key: str, value: str) -> ColumnElement[bool]:
    """A boolean spec, in whatever words it is kept."""
    words = TRUE_WORDS if specs.is_true(value) else FALSE_WORDS
    spelled = [form for word in sorted(words) for form in (word, f"<is> {word}")]
    return func.lower(ShareType.extra_specs[key].as_string()).in_(spelled)


TYPES = Listing(
    ShareType,
    "share_type",
    configured=("is_public", "extra_specs"),
    filters=(Filter("extra_specs", _with_specs),),
    sort={"name": ShareType.name, "updated_at": ShareType.updated_at},
    other=frozenset({"is_public"}),
)


def index(req: Request) -> dict[str, Any]:
    scope, where = SHARE_TYPES.listed(req)
    with req.service.db.read() as tx:
        page = TYPES.page(tx, req, scope=scope, where=where)
    shown = req.views(TypeDetail, page.rows)
    return {"share_types": shown, "volume_types": shown}


def _both(req: Request, row: ShareType) -> dict[str, Any]:
    """Older clients know share types as volume types."""
    shown = req.view(TypeDetail, row)
    return {"share_type": shown, "volume_type": shown}


def show(req: Request, id: str) -> dict[str, Any]:
    with req.service.db.read() as tx:
        row = req.scope.get(tx, ShareType, id)
    return _both(req, row)


def show_default(req: Request) -> dict[str, Any]:
    with req.service.db.read() as tx:
        row = default_type(tx, req.service.conf)
    if row is None:
        raise NotFound("There is no default share type.")
    return _both(req, row)


def create(req: Request) -> Any:
    wanted = req.body.share_type
    if wanted.description is not None and req.version < DESCRIPTION_FROM:
        raise BadRequest(f"description is refused: share types have one from {DESCRIPTION_FROM} on.")
    # Before it could be left out, every type had snapshots unless it said otherwise.
    implied = {specs.SNAPSHOTS: "True"} if req.version < OPTIONAL_SNAPSHOTS_FROM else {}
    return SHARE_TYPES.create(req, wanted, implied | wanted.extra_specs, lambda row: _both(req, row))


def update(req: Request, id: str) -> dict[str, Any]:
    return _both(req, SHARE_TYPES.update(req, id, **req.body.share_type.changes()))


def _refuse_in_use(tx: Session, _req: Request, row: ShareType) -> None:
    of_type = everything().columns(ShareInstance, ShareInstance.id).where(ShareInstance.share_type_id == row.id)
    if tx.scalar(of_type.limit(1)) is not None:
        raise BadRequest(f"Share type {row.name} is in use: it cannot be deleted while there are shares of it.")


def _refuse_spec_removal(req: Request, key: str) -> None:
    kept = {*specs.REQUIRED, specs.SNAPSHOTS} if req.version < OPTIONAL_SNAPSHOTS_FROM else specs.REQUIRED
    if key in kept:
        raise Forbidden(f"The extra spec {key} is required: it can be changed and not removed.")


SHARE_TYPES = TypesOf(
    model=ShareType,
    key="share_type",
    access_view=AccessEntry,
    visible=visible_specs,
    quota_keys=type_keys,
    check_specs=specs.check,
    check_change=lambda _tx, _row: None,
    check_spec_removal=_refuse_spec_removal,
    check_removal=_refuse_in_use,
    public_refusal=Conflict,
    every_word="all",
)
