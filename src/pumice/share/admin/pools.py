"""Pools as workers reported them (section 19 of the API)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pumice.kernel.errors import BadRequest, NotFound
from pumice.kernel.scheduling.filters import CapabilitiesFilter
from pumice.kernel.scheduling.pool import PoolState
from pumice.kernel.scheduling.view import open_pools
from pumice.kernel.types import find_type
from pumice.share import binaries
from pumice.share.admin.shapes import PoolDetail, PoolSummary
from pumice.share.types.model import ShareType
from pumice.share.types.specs import wanted_of_pools

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request
    from pumice.kernel.api.views import View

TYPE_FROM = "2.23"
LONGEST = 256


def index(req: Request) -> dict[str, Any]:
    return _list(req, PoolSummary)


def detail(req: Request) -> dict[str, Any]:
    return _list(req, PoolDetail)


def _list(req: Request, view: type[View]) -> dict[str, Any]:
    """The pools that new shares may go to: those of backends that are up and enabled."""
    pools: Sequence[PoolState] = open_pools(req.service, binaries.SHARE)
    type_name = req.query.get("share_type")
    if type_name is not None and req.version >= TYPE_FROM:
        pools = _fitting(req, type_name, pools)
    patterns = {name: _pattern(req, name) for name in ("host", "backend", "pool")}
    shown = [
        entry
        for entry, parts in zip(req.views(view, pools), req.views(PoolSummary, pools), strict=True)
        if all(pattern is None or pattern.match(parts[name]) for name, pattern in patterns.items())
    ]
    return {"pools": shown}


def _fitting(req: Request, type_name: str, pools: Sequence[PoolState]) -> Sequence[PoolState]:
    with req.service.db.read() as tx:
        try:
            found = find_type(tx, ShareType, req.scope, type_name)
        except NotFound as error:
            raise BadRequest(error.message) from error
    return CapabilitiesFilter.fitting(wanted_of_pools(found.extra_specs), pools)


def _pattern(req: Request, name: str) -> re.Pattern[str] | None:
    """What the query says of a part of a pool's name, a regular expression that its beginning matches."""
    text = req.query.get(name)
    try:
        if text is not None and len(text) > LONGEST:
            raise ValueError(f"at most {LONGEST} characters are allowed")
        return re.compile(text) if text is not None else None
    except (ValueError, re.error, OverflowError, RecursionError) as error:
        raise BadRequest(f"{name} is refused: it is not a regular expression: {error}") from None
