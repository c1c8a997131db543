"""Extensions: there are none left, everything is part of the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pumice.kernel.errors import NotFound

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


def extensions(_req: Request) -> dict[str, Any]:
    return {"extensions": []}


def extension(_req: Request, alias: str) -> dict[str, Any]:
    raise NotFound(f"Extension {alias} could not be found.")
