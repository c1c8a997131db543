"""Waiting for the end of an operation, for the calls that must answer with its result."""

from __future__ import annotations

import threading
import time
from collections import defaultdict

from pumice.kernel.operations.journal import FINISHED, Journal
from pumice.kernel.operations.model import LIVE, Operation

LOOK_EVERY = 0.5
"""Seconds between looks at the row: the bus tells of an end at once, but may lose it."""


class Waiter:
    """Wakes those who wait in this process for an operation's end."""

    def __init__(self, journal: Journal) -> None:
        self._db = journal.db
        self._lock = threading.Lock()
        self._waiting: defaultdict[str, set[threading.Event]] = defaultdict(set)
        self._bus = journal.bus
        self._listens = False

    def wait(self, id: str, timeout: float) -> Operation | None:
        """The operation once it has ended, or None after `timeout` seconds."""
        ended = threading.Event()
        with self._lock:
            self._waiting[id].add(ended)
            if not self._listens:
                self._listens = True
                self._bus.subscribe(FINISHED, self._finished)
        end = time.monotonic() + timeout
        try:
            while True:
                # The first look comes after we began to listen: an end is either seen or heard.
                with self._db.read() as tx:
                    operation = tx.get(Operation, id)
                if operation is not None and operation.state not in LIVE:
                    return operation
                rest = end - time.monotonic()
                if rest <= 0:
                    return None
                ended.wait(min(LOOK_EVERY, rest))
                ended.clear()
        finally:
            with self._lock:
                self._waiting[id].discard(ended)
                if not self._waiting[id]:
                    del self._waiting[id]

    def _finished(self, payload: dict[str, str]) -> None:
        with self._lock:
            for ended in self._waiting.get(payload["id"], ()):
                ended.set()
