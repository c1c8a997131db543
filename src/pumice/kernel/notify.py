"""Notifications, as Ceilometer and others read them, through an outbox.

A notification is a row, written in the transaction that it tells of, so none is sent for what was rolled back
and none is lost with a process. One process at a time delivers: whoever has claimed the oldest row. Delivery is
at least once; the message id follows from operation and event, so that receivers can tell a repetition.
"""

from __future__ import annotations

import datetime
import logging
import random
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any

from oslo_config import cfg
from sqlalchemy import BigInteger, Integer, String, delete, or_, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column
from stevedore import driver

from pumice.kernel.bus import NO_BROKER
from pumice.kernel.config import ConfigError
from pumice.kernel.db.base import Base, new_id, utcnow
from pumice.kernel.db.clock import later
from pumice.kernel.db.engine import Database, TryAgain, after_commit, changed

LOG = logging.getLogger(__name__)

GROUP = "oslo_messaging_notifications"
DRIVERS = "oslo.messaging.notify.drivers"
NAMESPACE = uuid.UUID("5f0b3a52-6f2e-4b0c-9d53-0e1f6a1d7c55")
BATCH = 50
CLAIM_SECONDS = 60.0
POLL_SECONDS = 5.0
"""How soon rows of processes that died, or do not deliver themselves, are found."""
LONGEST_WAIT_SECONDS = 60.0


class Notification(Base):
    __tablename__ = "notifications"

    sequence: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    id: Mapped[str] = mapped_column(String(36), unique=True)
    event_type: Mapped[str] = mapped_column(String(255))
    publisher_id: Mapped[str] = mapped_column(String(255))
    priority: Mapped[str] = mapped_column(String(16))
    payload: Mapped[dict[str, Any]]
    created_at: Mapped[datetime.datetime] = mapped_column(default=utcnow)
    claimed_by: Mapped[str | None] = mapped_column(String(36))
    claimed_until: Mapped[datetime.datetime | None]


class Notifier:
    """Writes notifications into the outbox and, once started, delivers them from a thread.

    :param conf: the service's; its files say in `[oslo_messaging_notifications]` where to
    """

    def __init__(self, db: Database, conf: cfg.ConfigOpts, publisher_id: str) -> None:
        self.publisher_id = publisher_id
        self._db = db
        self._me = new_id()
        section = _section(conf)
        self._delivery = _Delivery(conf, section) if set(section.driver) - {"noop"} else None
        self._failures = 0
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="notifier", daemon=True)

    @property
    def enabled(self) -> bool:
        """Whether anybody is told. If not, `emit` does nothing, and payloads need not be made."""
        return self._delivery is not None

    def emit(
        self,
        tx: Session,
        operation_id: str,
        event_type: str,
        payload: Mapping[str, Any],
        *,
        priority: str = "INFO",
        publisher_id: str | None = None,
    ) -> None:
        """Write a notification in the transaction that it tells of; a second of that operation and event is ignored.

        :param operation_id: an operation's, or where there is none anything as unique (a request's id)
        :param payload: JSON types
        :param priority: INFO, WARN, ERROR, …
        """
        if not self.enabled:
            return
        message_id = str(uuid.uuid5(NAMESPACE, f"{operation_id} {event_type}"))
        if tx.scalar(select(Notification.id).where(Notification.id == message_id)):
            return
        row = Notification(
            id=message_id,
            event_type=event_type,
            publisher_id=publisher_id or self.publisher_id,
            priority=priority,
            payload=dict(payload),
        )
        tx.add(row)
        after_commit(tx, self._wake.set)

    def start(self) -> None:
        if self.enabled:
            self._thread.start()

    def stop(self) -> None:
        """End delivering; what is left in the outbox is delivered by others, or after the next start."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(POLL_SECONDS)
        if self._delivery is not None:
            self._delivery.close()

    def deliver(self) -> int:
        """Claim and deliver a batch, oldest first, up to the first that fails.

        :returns: how many were delivered; 0 also while another process is at it
        """
        if self._delivery is None or not self._waiting():
            return 0
        give_up = time.monotonic() + CLAIM_SECONDS / 2
        rows = self._db.write(lambda tx: _claim(tx, self._me))
        sent = []
        for row in rows:
            # A driver that is slow may not outlast the claim, or another process would deliver the same meanwhile.
            if self._stop.is_set() or time.monotonic() > give_up or not self._delivery.send(row):
                break
            sent.append(row.sequence)
        self._failures = 0 if len(sent) == len(rows) else self._failures + 1
        self._db.write(lambda tx: _settle(tx, self._me, sent))
        return len(sent)

    def _waiting(self) -> bool:
        with self._db.read() as tx:
            return tx.scalar(select(Notification.sequence).limit(1)) is not None

    def _run(self) -> None:
        while True:
            self._wake.clear()
            if self._stop.is_set():
                return
            try:
                delivered = self.deliver()
            except Exception:
                LOG.exception("the outbox of notifications cannot be read")
                delivered = 0
                self._failures += 1
            if self._failures:
                # Not woken by new rows: they would be refused as well.
                self._stop.wait(random.uniform(0.5, 1) * min(LONGEST_WAIT_SECONDS, 2**self._failures))  # noqa: S311
            elif not delivered:
                self._wake.wait(POLL_SECONDS)


def _claim(tx: Session, me: str) -> Sequence[Notification]:
    """The oldest rows, claimed; none while one of them is somebody else's, for then he delivers in order."""
    free = or_(Notification.claimed_by.is_(None), Notification.claimed_by == me, Notification.claimed_until <= later())
    oldest = tx.execute(select(Notification, free).order_by(Notification.sequence).limit(BATCH)).all()
    if not all(is_free for _, is_free in oldest):
        return ()
    rows = [row for row, _ in oldest]
    claim = update(Notification).where(Notification.sequence.in_([row.sequence for row in rows]), free)
    if changed(tx, claim.values(claimed_by=me, claimed_until=later(CLAIM_SECONDS))) != len(rows):
        raise TryAgain
    return rows


def _settle(tx: Session, me: str, sent: Sequence[int]) -> None:
    """Delete what was delivered, and let go of the rest."""
    tx.execute(delete(Notification).where(Notification.sequence.in_(sent)))
    mine = update(Notification).where(Notification.claimed_by == me)
    tx.execute(mine.values(claimed_by=None, claimed_until=None))


class _Watched:
    """A transport that remembers a failure: the drivers of oslo.messaging log it and say nothing."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self.failed = False

    def close(self) -> None:
        if self._transport is not None:
            self._transport.cleanup()

    def _send_notification(self, *args: Any, **kwargs: Any) -> None:
        try:
            self._transport._send_notification(*args, **kwargs)  # noqa: SLF001
        except Exception:
            self.failed = True
            raise


class _Delivery:
    """The configured drivers, called directly: oslo's own Notifier makes up a new message id at each call."""

    def __init__(self, conf: cfg.ConfigOpts, section: Any) -> None:
        # Imported only where notifications are wanted: oslo.messaging costs 0.3 s at every start.
        from pumice.kernel.messaging import messaging_conf, oslo_messaging  # noqa: PLC0415

        names = {name for name in section.driver if name != "noop"}
        known = entry_points(group=DRIVERS).names
        if unknown := names - known:
            allowed = ", ".join(sorted(known))
            raise ConfigError(f"[{GROUP}] driver = {', '.join(sorted(unknown))} is refused: it may be {allowed}")
        own = messaging_conf(conf)
        url = section.transport_url or conf.transport_url
        needs_bus = not names <= {"log", "test"}
        if needs_bus and url in NO_BROKER:
            where = "set transport_url there or in [DEFAULT]"
            raise ConfigError(f"[{GROUP}] driver = {', '.join(sorted(names))} needs a message bus: {where}")
        self._transport = _Watched(oslo_messaging.get_notification_transport(own, url=url) if needs_bus else None)
        topics = section.topics
        self._drivers: list[Any] = [
            driver.DriverManager(DRIVERS, name).driver(own, topics=topics, transport=self._transport)
            for name in sorted(names)
        ]

    def close(self) -> None:
        self._transport.close()

    def send(self, row: Notification) -> bool:
        message = {
            "message_id": row.id,
            "publisher_id": row.publisher_id,
            "event_type": row.event_type,
            "priority": row.priority,
            "payload": row.payload,
            "timestamp": str(row.created_at),
        }
        self._transport.failed = False
        for sender in self._drivers:
            try:
                # No retries below: the row stays in the outbox, and a stop need not wait.
                sender.notify({}, message, row.priority, 0)
            except Exception:
                LOG.exception("notification %s (%s) cannot be delivered", row.id, row.event_type)
                return False
        return not self._transport.failed


def _section(conf: cfg.ConfigOpts) -> Any:
    """What the files say about notifications; read apart, for oslo.messaging registers the same options its way."""
    own = cfg.ConfigOpts()
    options = [
        cfg.MultiStrOpt("driver", default=[]),
        cfg.StrOpt("transport_url"),
        cfg.ListOpt("topics", default=["notifications"]),
    ]
    own.register_opts(options, group=GROUP)
    own(args=[], project="pumice", default_config_files=list(conf.config_file), default_config_dirs=[])
    return own[GROUP]
