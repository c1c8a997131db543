"""Reporting for a worker that it is alive."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from sqlalchemy.orm import Session

from pumice.kernel import services
from pumice.kernel.db.engine import Database

LOG = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
STOP_SECONDS = 5.0
"""For which a stop waits for a report that is under way: it may try for long to reach the database."""


class Heart:
    """The thread that reports for one worker, once `interval` seconds.

    A database outage ends no heart: a report that fails is tried again after a second at most, so the service
    is up again well within one interval after the database is back.

    :param backend_state: asked at each report: "up" or "down"
    """

    def __init__(
        self,
        db: Database,
        identity: services.Identity,
        interval: float,
        backend_state: Callable[[], str] = lambda: "up",
    ) -> None:
        self.service_id: int | None = None
        self._db = db
        self._identity = identity
        self._interval = interval
        self._backend_state = backend_state
        self._failing = False
        self._reported = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"heart-{identity.host}", daemon=True)

    @property
    def silence(self) -> float:
        """Seconds since the last report, or since there has been none."""
        return time.monotonic() - self._reported

    def start(self) -> None:
        """Make the first report, and go on in the thread."""
        self._report()
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        while not self._stop.wait(min(self._interval, RETRY_SECONDS) if self._failing else self._interval):
            self._report()

    def _report(self) -> None:
        try:
            state = self._backend_state()
            self.service_id = self._db.write(lambda tx: self._beat_or_register(tx, state))
            self._failing = False
            self._reported = time.monotonic()
        except Exception as error:
            # A warning once an outage, not once a report.
            level = logging.DEBUG if self._failing else logging.WARNING
            LOG.log(level, "%s cannot report that it is up: %s", self._identity, error, exc_info=True)
            self._failing = True

    def _beat_or_register(self, tx: Session, state: str) -> int:
        if self.service_id is not None and services.beat(tx, self.service_id, backend_state=state):
            return self.service_id
        service_id = services.register(tx, self._identity)
        services.beat(tx, service_id, backend_state=state)
        return service_id
