"""Levels of loggers at run time (3.32), in all processes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from pumice.block.admin.shapes import GetLog
from pumice.kernel import services
from pumice.kernel.errors import BadRequest
from pumice.kernel.loglevels import Question

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


def show(req: Request) -> dict[str, Any]:
    question = _question(req)
    with req.service.db.read() as tx:
        expected = {
            (row.host, row.binary)
            for row in services.find(tx)
            if question.means(row.host, row.binary, row.cluster) and services.up(row, req)
        }
    answers = req.service.loglevels.show(question, expected)
    return {
        "log_levels": [{"host": host, "binary": binary, "levels": levels} for (host, binary), levels in answers.items()]
    }


def change(req: Request) -> None:
    level = req.body.level.upper()
    known = logging.getLevelNamesMapping()
    if level not in known:
        raise BadRequest(f"{req.body.level!r} is no level of logs; allowed are: {', '.join(known)}.")
    req.service.loglevels.change(_question(req, level))


def _question(req: Request, level: str = "") -> Question:
    body: GetLog = req.body
    return Question(binary=body.binary or "", server=body.server or "", prefix=body.prefix or "", level=level)
