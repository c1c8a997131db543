"""Removing what has had its time: expired messages, ended operations, answers to requests that may be repeated.

Any number of processes may do it at once.
"""

from __future__ import annotations

import datetime
import logging
import random
import threading
from collections.abc import Callable

from oslo_config import cfg
from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import Session

from pumice.kernel.answered import Answered
from pumice.kernel.db.base import Identified, utcnow
from pumice.kernel.db.engine import Database, changed
from pumice.kernel.messages import Message
from pumice.kernel.operations.model import Operation

LOG = logging.getLogger(__name__)

BATCH = 1000
"""Rows removed in one transaction: none of them is ever long."""
LONGEST_PAUSE = 3600.0
STOP_SECONDS = 5.0
"""For which a stop waits for what is under way: it may try for long to reach the database."""


class Periodic:
    """A thread that does something again and again, at uneven pauses so that no two processes fall into step."""

    def __init__(self, name: str, pause: float, work: Callable[[], object]) -> None:
        self._name = name
        self._pause = pause
        self._work = work
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    def _loop(self) -> None:
        while not self._stop.wait(self._pause * random.uniform(0.8, 1.2)):  # noqa: S311
            try:
                self._work()
            except Exception:
                LOG.exception("%s failed; it is tried again later", self._name)


class Housekeeping(Periodic):
    """Looks every `message_reap_interval`, an hour at most."""

    def __init__(self, db: Database, conf: cfg.ConfigOpts) -> None:
        super().__init__("housekeeping", min(float(conf.message_reap_interval), LONGEST_PAUSE), self.clean)
        self._db = db
        self._retention = datetime.timedelta(seconds=conf.operations.retention)
        self._repeatable = datetime.timedelta(seconds=conf.idempotency_key_retention)

    def clean(self) -> None:
        """One round: everything that has had its time goes, in batches."""
        now = utcnow()
        self._remove(Message, Message.expires_at < now)
        self._remove(Operation, Operation.finished_at < now - self._retention)
        self._remove(Answered, Answered.created_at < now - self._repeatable)

    def _remove(self, model: type[Identified], condition: ColumnElement[bool]) -> None:
        def work(tx: Session) -> int:
            ids = tx.scalars(select(model.id).where(condition).limit(BATCH)).all()
            changed(tx, delete(model).where(model.id.in_(ids)))
            return len(ids)

        while self._db.write(work) == BATCH and not self.stopping:
            pass
