"""Waiting for the end of an operation, for the calls that must answer with its result."""

from __future__ import annotations

import threading
import time

from pumice.kernel.operations.journal import FINISHED, Journal
from pumice.kernel.operations.model import LIVE, Operation

LOOK_EVERY = 0.5
"""Seconds between looks at the row: the bus tells of an end at once, but may lose it."""


class Waiter:
    """Wakes those who wait in this process for an operation's end."""

    def __init__(self, journal: Journal) -> None:
        self._db = journal.db
        self._events: dict[str, threading.Event] = {}
        self._silence = journal.bus.subscribe(FINISHED, self._finished)

    def close(self) -> None:
        self._silence()

    def expect(self, id: str) -> None:
        """Begin to listen for the end of an operation; to be called before it is submitted."""
        self._events[id] = threading.Event()

    def wait(self, id: str, timeout: float) -> Operation | None:
        """The operation once it has ended, or None after `timeout` seconds."""
        event = self._events[id]
        end = time.monotonic() + timeout
        try:
            while True:
                rest = end - time.monotonic()
                event.wait(min(LOOK_EVERY, max(0.0, rest)))
                with self._db.read() as tx:
                    operation = tx.get(Operation, id)
                if operation is not None and operation.state not in LIVE:
                    return operation
                if rest <= 0:
                    return None
        finally:
            del self._events[id]

    def _finished(self, payload: dict[str, str]) -> None:
        event = self._events.get(payload["id"])
        if event is not None:
            event.set()
