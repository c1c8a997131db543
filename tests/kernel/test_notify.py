from __future__ import annotations

import datetime
import json
import logging
import queue
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg
from sqlalchemy import select, update

from pumice.kernel.config import ConfigError
from pumice.kernel.db.base import Base, utcnow
from pumice.kernel.db.engine import Database
from pumice.kernel.messaging import messaging_conf, oslo_messaging
from pumice.kernel.notify import BATCH, Notification, Notifier
from tests.support.databases import url_of
from tests.support.waiting import LONG, eventually


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    db = Database(url_of(tmp_path / "db.sqlite"))
    Base.metadata.create_all(db.engine, tables=[Notification.__table__])
    yield db
    db.close()


def configured(tmp_path: Path, notifications: str = "", url: str = "") -> cfg.ConfigOpts:
    file = tmp_path / f"{uuid.uuid4().hex}.conf"
    file.write_text(f"[oslo_messaging_notifications]\n{notifications}\n")
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[str(file)])
    conf.register_opt(cfg.StrOpt("transport_url", default=url))
    return conf


def emit(db: Database, notifier: Notifier, operation: str, event: str = "volume.create.end", **payload: Any) -> None:
    db.write(lambda tx: notifier.emit(tx, operation, event, payload))


def outbox(db: Database) -> list[Notification]:
    with db.read() as tx:
        return list(tx.scalars(select(Notification).order_by(Notification.sequence)))


class Receiver:
    """A real listener of oslo.messaging, in this process."""

    def __init__(self, conf: cfg.ConfigOpts, topic: str) -> None:
        self.heard: queue.Queue[dict[str, Any]] = queue.Queue()
        transport = oslo_messaging.get_notification_transport(messaging_conf(conf), url="fake://")
        targets = [oslo_messaging.Target(topic=topic)]
        self.listener = oslo_messaging.get_notification_listener(transport, targets, [self])
        self.listener.start()

    def info(self, _context: Any, publisher: str, event: str, payload: Any, metadata: dict[str, Any]) -> None:
        self.heard.put({"publisher": publisher, "event": event, "payload": payload, **metadata})

    error = info

    def close(self) -> None:
        self.listener.stop()
        self.listener.wait()


@pytest.mark.parametrize("driver", ["", "driver = noop"])
def test_without_a_driver_nothing_is_kept(db: Database, tmp_path: Path, driver: str) -> None:
    notifier = Notifier(db, configured(tmp_path, driver), "volume.h")
    assert not notifier.enabled
    emit(db, notifier, "op")
    assert outbox(db) == []
    assert notifier.deliver() == 0
    notifier.start()
    notifier.stop()


def test_without_a_driver_oslo_messaging_is_not_even_imported(tmp_path: Path) -> None:
    (tmp_path / "empty.conf").touch()
    code = (
        "import sys; from oslo_config import cfg; from pumice.kernel.notify import Notifier;"
        f"conf = cfg.ConfigOpts(); conf([], default_config_files=[{str(tmp_path / 'empty.conf')!r}]);"
        "Notifier(None, conf, 'p'); sys.exit('oslo_messaging' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_receiver_gets_them_in_order(db: Database, tmp_path: Path) -> None:
    topic = f"n{uuid.uuid4().hex[:8]}"
    conf = configured(tmp_path, f"driver = messagingv2\ntopics = {topic}", "fake://")
    receiver = Receiver(conf, topic)
    notifier = Notifier(db, conf, "volume.h")
    notifier.start()
    for number in range(BATCH + 5):
        emit(db, notifier, f"op-{number}", number=number)
    got = [receiver.heard.get(timeout=LONG) for _ in range(BATCH + 5)]
    # The receiver's threads may overtake each other by a little; its clock does not.
    assert sorted(each["payload"]["number"] for each in got) == list(range(BATCH + 5))
    assert {(each["publisher"], each["event"]) for each in got} == {("volume.h", "volume.create.end")}
    assert len({each["message_id"] for each in got}) == BATCH + 5
    eventually(lambda: outbox(db) == [])
    notifier.stop()
    receiver.close()


def test_priority_and_publisher(db: Database, tmp_path: Path) -> None:
    topic = f"n{uuid.uuid4().hex[:8]}"
    conf = configured(tmp_path, f"driver = messagingv2\ntopics = {topic}", "fake://")
    receiver = Receiver(conf, topic)
    notifier = Notifier(db, conf, "volume.h")
    db.write(
        lambda tx: notifier.emit(tx, "op", "snapshot.create.end", {}, priority="ERROR", publisher_id="snapshot.h@b")
    )
    assert notifier.deliver() == 1
    got = receiver.heard.get(timeout=LONG)
    assert (got["publisher"], got["event"]) == ("snapshot.h@b", "snapshot.create.end")
    receiver.close()


class Recorder(logging.Handler):
    """What oslo's `log` driver writes, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(json.loads(record.getMessage()))


@pytest.fixture
def logged() -> Iterator[list[dict[str, Any]]]:
    logger = logging.getLogger("oslo.messaging.notification")
    recorder = Recorder()
    logger.addHandler(recorder)
    level = logger.level
    logger.setLevel(logging.INFO)
    yield recorder.messages
    logger.removeHandler(recorder)
    logger.setLevel(level)


def test_delivered_in_order_once(db: Database, tmp_path: Path, logged: list[dict[str, Any]]) -> None:
    notifier = Notifier(db, configured(tmp_path, "driver = log"), "volume.h")
    for number in range(BATCH + 5):
        emit(db, notifier, f"op-{number}", number=number)
    assert [notifier.deliver() for _ in range(3)] == [BATCH, 5, 0]
    assert [message["payload"]["number"] for message in logged] == list(range(BATCH + 5))
    assert outbox(db) == []
    first = logged[0]
    assert (first["event_type"], first["priority"], first["publisher_id"]) == ("volume.create.end", "INFO", "volume.h")
    assert datetime.datetime.fromisoformat(first["timestamp"]) <= utcnow()


def test_the_id_follows_from_operation_and_event(db: Database, tmp_path: Path, logged: list[dict[str, Any]]) -> None:
    notifier = Notifier(db, configured(tmp_path, "driver = log"), "volume.h")
    emit(db, notifier, "op", "volume.create.end")
    emit(db, notifier, "op", "volume.create.end")
    emit(db, notifier, "op", "volume.create.start")
    assert notifier.deliver() == 2
    emit(db, notifier, "op", "volume.create.end")
    assert notifier.deliver() == 1
    ids = [message["message_id"] for message in logged]
    assert ids[0] == ids[2] != ids[1]


def test_what_is_rolled_back_is_not_told(db: Database, tmp_path: Path) -> None:
    notifier = Notifier(db, configured(tmp_path, "driver = log"), "volume.h")

    def fails(tx: Any) -> None:
        notifier.emit(tx, "op", "volume.create.end", {})
        raise RuntimeError("rolled back")

    with pytest.raises(RuntimeError, match="rolled back"):
        db.write(fails)
    assert outbox(db) == []


def test_two_processes_deliver_each_once(db: Database, tmp_path: Path, logged: list[dict[str, Any]]) -> None:
    notifiers = [Notifier(db, configured(tmp_path, "driver = log"), "volume.h") for _ in range(2)]
    for notifier in notifiers:
        notifier.start()
    writers = [
        threading.Thread(target=lambda n=n: [emit(db, notifiers[n % 2], f"op-{n}-{i}") for i in range(20)])
        for n in range(4)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    eventually(lambda: outbox(db) == [])
    for notifier in notifiers:
        notifier.stop()
    assert len(logged) == 80
    assert len({message["message_id"] for message in logged}) == 80


def test_a_dead_process_leaves_its_claim_behind(db: Database, tmp_path: Path) -> None:
    notifier = Notifier(db, configured(tmp_path, "driver = log"), "volume.h")
    emit(db, notifier, "op-1")
    emit(db, notifier, "op-2")
    claim = update(Notification).where(Notification.sequence == 1)
    soon = utcnow() + datetime.timedelta(seconds=30)
    db.write(lambda tx: tx.execute(claim.values(claimed_by="another", claimed_until=soon)))
    # Not even the free one: it would overtake.
    assert notifier.deliver() == 0
    db.write(lambda tx: tx.execute(claim.values(claimed_until=utcnow())))
    assert notifier.deliver() == 2


def test_what_the_bus_refuses_stays(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = f"n{uuid.uuid4().hex[:8]}"
    conf = configured(tmp_path, f"driver = messagingv2\ntopics = {topic}", "fake://")
    receiver = Receiver(conf, topic)
    notifier = Notifier(db, conf, "volume.h")
    assert notifier._delivery is not None
    transport = notifier._delivery._transport._transport
    refused = threading.Event()

    def refuse(*_args: Any, **_kwargs: Any) -> None:
        refused.set()
        raise oslo_messaging.MessageDeliveryFailure("the broker is away")

    with monkeypatch.context() as broken:
        broken.setattr(transport, "_send_notification", refuse)
        emit(db, notifier, "op")
        notifier.start()
        assert refused.wait(LONG)
        eventually(lambda: [row.claimed_by for row in outbox(db)] == [None])
    got = receiver.heard.get(timeout=LONG)
    assert got["event"] == "volume.create.end"
    notifier.stop()
    receiver.close()


@pytest.mark.parametrize(
    ("section", "complaint"),
    [
        ("driver = messagingv2", "needs a message bus: set transport_url"),
        ("driver = log\ndriver = pigeon", "driver = pigeon is refused: it may be .*messagingv2"),
    ],
)
def test_a_wrong_driver_names_the_option(db: Database, tmp_path: Path, section: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Notifier(db, configured(tmp_path, section), "volume.h")
