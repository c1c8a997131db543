"""Levels of loggers at run time, in every process of a service: asked for and set over the bus."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from pumice.kernel.bus import Bus, Payload

ASKED, ANSWERED = "logs.asked", "logs.answered"
"""Topics on the bus: a `Question` as a dict; {"id", "host", "binary", "levels"}."""
PATIENCE = 2.0
"""Seconds that answers are waited for."""

ASK_AGAIN = 0.5

Who = tuple[str, str]
"""Host and binary."""
Levels = dict[str, str]
"""Logger → name of its level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Whose levels are meant, and of which loggers; with `level`, what they shall be.

    :ivar binary: "" or "*" means all
    :ivar server: a host, with or without its backend, or a cluster; "" means all
    """

    binary: str = ""
    server: str = ""
    prefix: str = ""
    level: str = ""

    def means(self, host: str, binary: str, cluster: str | None) -> bool:
        names = {"", host, host.partition("@")[0], cluster}
        return self.binary in {"", "*", binary} and self.server in names


@dataclass(slots=True)
class _Waiting:
    missing: set[Who]
    answers: dict[Who, Levels] = field(default_factory=dict)
    all_here: threading.Event = field(default_factory=threading.Event)


class LogLevels:
    """One process's end of it."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._names: list[tuple[str, str, str | None]] = []
        self._waiting: dict[str, _Waiting] = {}
        self._listens = False

    def answer_as(self, host: str, binary: str, cluster: str | None = None) -> None:
        """Answer for a service of this process."""
        self._names.append((host, binary, cluster))

    def start(self) -> None:
        self._bus.subscribe(ASKED, self._asked)

    def change(self, question: Question) -> None:
        """Set levels, here at once and elsewhere soon."""
        self._obey(question)
        self._tell("", question)

    def show(self, question: Question, expected: Collection[Who]) -> dict[Who, Levels]:
        """The levels of all who answer, this process first.

        :param expected: who else is known to be up; once they have answered nobody is waited for any longer
        """
        mine = dict.fromkeys(self._meant(question), _levels(question.prefix))
        waiting = _Waiting(set(expected) - mine.keys(), dict(mine))
        if waiting.missing:
            self._ask(question, waiting)
        return dict(waiting.answers)

    def _ask(self, question: Question, waiting: _Waiting) -> None:
        if not self._listens:
            self._listens = True
            self._bus.subscribe(ANSWERED, self._answered)
        id = uuid.uuid4().hex
        self._waiting[id] = waiting
        end = time.monotonic() + PATIENCE
        # Asked again and again: a broker gives no answers until it has the subscription, which takes a moment.
        while not waiting.all_here.is_set() and (rest := end - time.monotonic()) > 0:
            self._tell(id, question)
            waiting.all_here.wait(min(ASK_AGAIN, rest))
        del self._waiting[id]

    def _tell(self, id: str, question: Question) -> None:
        parts = {"binary": question.binary, "server": question.server}
        self._bus.publish(ASKED, {"id": id, **parts, "prefix": question.prefix, "level": question.level})

    def _asked(self, payload: Payload) -> None:
        values: dict[str, Any] = dict(payload)
        id = values.pop("id")
        question = Question(**values)
        if question.level:
            self._obey(question)
            return
        for host, binary in self._meant(question):
            self._bus.publish(ANSWERED, {"id": id, "host": host, "binary": binary, "levels": _levels(question.prefix)})

    def _answered(self, payload: Payload) -> None:
        waiting = self._waiting.get(payload["id"])
        if waiting is not None:
            who = (payload["host"], payload["binary"])
            waiting.answers[who] = payload["levels"]
            waiting.missing.discard(who)
            if not waiting.missing:
                waiting.all_here.set()

    def _meant(self, question: Question) -> list[Who]:
        return [(host, binary) for host, binary, cluster in self._names if question.means(host, binary, cluster)]

    def _obey(self, question: Question) -> None:
        if self._meant(question):
            for _, logger in _loggers(question.prefix):
                logger.setLevel(question.level)


def _levels(prefix: str) -> Levels:
    return {name: logging.getLevelName(one.getEffectiveLevel()) for name, one in _loggers(prefix)}


def _loggers(prefix: str) -> Iterator[tuple[str, logging.Logger]]:
    known = dict(logging.root.manager.loggerDict)
    for name, logger in sorted(known.items()):
        # Names that only stand between others have no logger.
        if name.startswith(prefix) and isinstance(logger, logging.Logger):
            yield name, logger
