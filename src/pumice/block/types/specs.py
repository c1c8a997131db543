"""The extra specs of a volume type, one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from pumice.block.types.handlers import check_specs, emit, locked, refuse_in_use
from pumice.block.types.model import VolumeType
from pumice.block.types.shapes import visible_specs
from pumice.kernel.errors import BadRequest, NotFound

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

Specs = dict[str, str | None]


def index(req: Request, type_id: str) -> dict[str, Any]:
    return {"extra_specs": _visible(req, type_id)}


def show(req: Request, type_id: str, key: str) -> Specs:
    return {key: _known(_visible(req, type_id), key)}


def _visible(req: Request, type_id: str) -> Specs:
    with req.service.db.read() as tx:
        return visible_specs(req.scope.get(tx, VolumeType, type_id), req)


def _known(specs: Specs, key: str) -> str | None:
    if key not in specs:
        raise NotFound(f"The volume type has no extra spec {key}.")
    return specs[key]


def create(req: Request, type_id: str) -> dict[str, Any]:
    given: Specs = req.body.extra_specs
    _change(req, type_id, "create", lambda specs: specs | given)
    return {"extra_specs": given}


def update(req: Request, type_id: str, key: str) -> Specs:
    given: Specs = req.body
    if list(given) != [key]:
        raise BadRequest(
            f"The body holds {', '.join(given) or 'nothing'}: exactly the key of the path, {key}, is allowed."
        )
    _change(req, type_id, "update", lambda specs: specs | given)
    return given


def remove(req: Request, type_id: str, key: str) -> None:
    def without(specs: Specs) -> Specs:
        _known(specs, key)
        return {name: value for name, value in specs.items() if name != key}

    _change(req, type_id, "delete", without)


def _change(req: Request, type_id: str, event: str, change: Callable[[Specs], Specs]) -> None:
    def work(tx: Session) -> None:
        row = locked(tx, req.scope, type_id)
        specs = change(row.extra_specs)
        if event != "delete":
            refuse_in_use(tx, row, "given other extra specs")
            check_specs(specs)
        row.extra_specs = specs
        emit(tx, req, f"volume_type_extra_specs.{event}", {"type_id": type_id, "specs": specs})

    req.service.db.write(work)
