from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from pumice.kernel import loglevels
from pumice.kernel.bus import LocalBus
from pumice.kernel.loglevels import LogLevels, Question

PREFIX = "test_loglevels"
# Without a dot: the names between are no loggers as long as nobody asks for them, and oslo.log asks for all.
LOGGER = logging.getLogger(f"{PREFIX}_one")
API, WORKER = ("here", "cinder-api"), ("there@sim", "cinder-volume")


@pytest.fixture
def api() -> Iterator[LogLevels]:
    """The API's end; there is a worker of a cluster too."""
    bus = LocalBus()
    api, worker = LogLevels(bus), LogLevels(bus)
    api.answer_as(*API)
    worker.answer_as(*WORKER, "cluster@sim")
    worker.start()
    LOGGER.setLevel("INFO")
    yield api
    bus.close()


def test_all_answer(api: LogLevels) -> None:
    levels = {LOGGER.name: "INFO"}
    assert list(api.show(Question(prefix=PREFIX), {API, WORKER}).items()) == [(API, levels), (WORKER, levels)]


@pytest.mark.parametrize(
    ("question", "who"),
    [
        (Question(binary="*"), {API, WORKER}),
        (Question(binary="cinder-volume"), {WORKER}),
        (Question(server="there"), {WORKER}),
        (Question(server="there@sim"), {WORKER}),
        (Question(server="cluster@sim"), {WORKER}),
        (Question(server="here", binary="cinder-volume"), set()),
    ],
)
def test_who_is_meant_answers(api: LogLevels, question: Question, who: set[tuple[str, str]]) -> None:
    assert set(api.show(question, who)) == who


def test_who_is_silent_is_not_waited_for_long(api: LogLevels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loglevels, "PATIENCE", 0.3)
    assert set(api.show(Question(prefix=PREFIX), {WORKER, ("gone", "cinder-volume")})) == {API, WORKER}


def test_levels_are_set_where_they_are_meant(api: LogLevels) -> None:
    api.change(Question(binary="cinder-scheduler", prefix=PREFIX, level="ERROR"))
    assert LOGGER.level == logging.INFO
    api.change(Question(binary="cinder-volume", prefix=PREFIX, level="DEBUG"))
    assert set(api.show(Question(prefix=PREFIX), {WORKER})) == {API, WORKER}  # the worker has heard both by then
    assert LOGGER.level == logging.DEBUG
