"""The bus over a broker that goes away and comes back."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pumice.kernel.bus import Bus, make_bus
from tests.kernel.test_bus import configured
from tests.support.ports import free_port
from tests.support.servers.rabbitmq import RabbitMQ
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.real,
    # amqp leaves connections that the broker has closed to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SECONDS = 40.0
"""From the broker's return until doorbells are heard again, on a busy machine."""
OUTAGE = 3.0
"""How long it is away, which is long enough for several attempts to connect."""


class Rung:
    """A bus that sends and one that listens, as in two processes."""

    def __init__(self, make: Callable[[], Bus]) -> None:
        self.heard: queue.Queue[str] = queue.Queue()
        self.told: queue.Queue[object] = queue.Queue()
        self.sender, self.listener = make(), make()
        self.listener.listen("q", self.heard.put)
        self.listener.subscribe("t", self.told.put)

    def works(self, seconds: float = SECONDS) -> float:
        """Wait until doorbells and what is published arrive; after how many seconds they did."""
        began = time.monotonic()
        for send, arrived in (
            (lambda: self.sender.ring("q", "op"), self.heard),
            (lambda: self.sender.publish("t", {"a": 1}), self.told),
        ):

            def comes(send: Callable[[], None] = send, arrived: queue.Queue[object] = arrived) -> bool:
                send()
                try:
                    return bool(arrived.get(timeout=0.2))
                except queue.Empty:
                    return False

            eventually(comes, seconds)
        return time.monotonic() - began


@pytest.fixture
def rung(tmp_path: Path, rabbitmq: RabbitMQ, request: pytest.FixtureRequest) -> Iterator[Callable[[], Rung]]:
    conf = configured(tmp_path, rabbitmq.url)
    made: list[Rung] = []

    def make() -> Rung:
        made.append(Rung(lambda: make_bus(conf, request.node.name)))
        return made[-1]

    yield make
    for one in made:
        one.sender.close()
        one.listener.close()


def test_a_broker_that_is_away_at_the_start(rung: Callable[[], Rung], rabbitmq: RabbitMQ) -> None:
    rabbitmq.stop()
    both = rung()
    both.sender.ring("q", "lost, or not")
    time.sleep(OUTAGE)
    rabbitmq.start()
    both.works()


def test_a_broker_that_is_killed_and_restarted(rung: Callable[[], Rung], rabbitmq: RabbitMQ) -> None:
    both = rung()
    both.works()
    rabbitmq.kill()
    for _ in range(20):
        both.sender.ring("q", "lost")
    time.sleep(OUTAGE)
    rabbitmq.start()
    both.works()


def test_all_connections_closed(rung: Callable[[], Rung], rabbitmq: RabbitMQ) -> None:
    both = rung()
    both.works()
    rabbitmq.close_connections()
    both.works()


def test_one_of_several_brokers_is_enough_for_all_doorbells(tmp_path: Path, rabbitmq: RabbitMQ) -> None:
    scheme, _, rest = rabbitmq.url.partition("://")
    absent = ",".join(f"guest:guest@127.0.0.1:{free_port()}" for _ in range(4))
    conf = configured(tmp_path, f"{scheme}://{absent},{rest}")
    with closing(make_bus(conf, "several")) as listener, closing(make_bus(conf, "several")) as sender:
        heard: queue.Queue[str] = queue.Queue()
        listener.listen("q", heard.put)

        def comes() -> bool:
            sender.ring("q", "op")
            try:
                return bool(heard.get(timeout=0.2))
            except queue.Empty:
                return False

        eventually(comes, SECONDS)
        assert sender.dropped == 0


def test_doorbells_come_again_after_a_purge(rung: Callable[[], Rung], rabbitmq: RabbitMQ) -> None:
    both = rung()
    both.works()
    rabbitmq.purge()
    both.works()


def test_what_is_published_when_the_last_who_listened_has_gone_is_no_failure(
    tmp_path: Path, rabbitmq: RabbitMQ, caplog: pytest.LogCaptureFixture
) -> None:
    conf = configured(tmp_path, rabbitmq.url)
    sender, told = make_bus(conf, "gone"), queue.Queue[object]()

    def works() -> None:
        with closing(make_bus(conf, "gone")) as listener:
            listener.subscribe("t", told.put)
            eventually(lambda: sender.publish("t", {}) or not told.empty(), SECONDS)

    with closing(sender):
        works()
        for _ in range(3):
            sender.publish("t", {})
        told.queue.clear()
        works()
        assert sender.dropped == 0
    assert [one for one in caplog.records if one.name.startswith("pumice")] == []
