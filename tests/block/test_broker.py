"""Nothing that was accepted waits for the broker: sweeps find what no doorbell told of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.blockservice import Block
from tests.support.servers.rabbitmq import RabbitMQ

pytestmark = [
    pytest.mark.real,
    # amqp leaves connections that the broker has closed to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SWEEP = 1.0


@pytest.fixture
def block(tmp_path: Path, rabbitmq: RabbitMQ) -> Iterator[Block]:
    sections = {"operations": {"sweep_interval": SWEEP, "threads": 8}}
    with Block(tmp_path, sections=sections, transport_url=rabbitmq.url) as block:
        yield block


def create(block: Block, number: int) -> list[str]:
    answers = [block.call("POST", "/volumes", {"volume": {"size": 1, "name": f"v{n}"}}) for n in range(number)]
    assert [answer.status_code for answer in answers] == [202] * number
    return [answer.json["volume"]["id"] for answer in answers]


@pytest.mark.parametrize("fault", [RabbitMQ.close_connections, RabbitMQ.purge, RabbitMQ.kill])
def test_what_was_accepted_is_done(block: Block, rabbitmq: RabbitMQ, fault: Callable[[RabbitMQ], None]) -> None:
    ids = create(block, 3)
    fault(rabbitmq)
    ids += create(block, 3)
    for id in ids:
        assert block.rest(f"/volumes/{id}") == "available"
    if fault is RabbitMQ.kill:
        rabbitmq.start()
        for id in create(block, 3):
            assert block.rest(f"/volumes/{id}") == "available"
    assert block.all_wrong() == []


def test_a_service_starts_without_its_broker(tmp_path: Path, rabbitmq: RabbitMQ) -> None:
    rabbitmq.stop()
    try:
        with Block(tmp_path, transport_url=rabbitmq.url) as block:
            for id in create(block, 3):
                assert block.rest(f"/volumes/{id}") == "available"
            assert block.all_wrong() == []
    finally:
        rabbitmq.start()
