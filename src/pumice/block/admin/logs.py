"""Levels of loggers at run time (3.32), of the process that answers: where workers run in it, theirs too."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pumice.block.admin import binaries
from pumice.block.admin.shapes import GetLog
from pumice.kernel.errors import BadRequest

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


def show(req: Request) -> dict[str, Any]:
    if not _is_meant(req):
        return {"log_levels": []}
    levels = {name: logging.getLevelName(one.getEffectiveLevel()) for name, one in _loggers(req.body.prefix or "")}
    return {"log_levels": [{"host": req.service.conf.host, "binary": binaries.API, "levels": levels}]}


def change(req: Request) -> None:
    level = logging.getLevelNamesMapping().get(req.body.level.upper())
    if level is None:
        known = ", ".join(logging.getLevelNamesMapping())
        raise BadRequest(f"{req.body.level!r} is no level of logs; allowed are: {known}.")
    if _is_meant(req):
        for _, logger in _loggers(req.body.prefix or ""):
            logger.setLevel(level)


def _is_meant(req: Request) -> bool:
    body: GetLog = req.body
    return body.binary in {None, "", "*", binaries.API} and body.server in {None, "", req.service.conf.host}


def _loggers(prefix: str) -> Iterator[tuple[str, logging.Logger]]:
    known = dict(logging.root.manager.loggerDict)
    for name, logger in sorted(known.items()):
        # Names that only stand between others have no logger.
        if name.startswith(prefix) and isinstance(logger, logging.Logger):
            yield name, logger
