from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from pumice.kernel.processes import Signals

HEEDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@pytest.fixture
def signals() -> Iterator[Signals]:
    before = {number: signal.getsignal(number) for number in HEEDED}
    yield Signals()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", HEEDED)
def test_a_signal_is_noted_whichever_thread_it_comes_to(signals: Signals, number: signal.Signals) -> None:
    """The kernel may hand it to any; Python's handler runs in the main thread, which waits meanwhile."""
    other = threading.Timer(0.2, lambda: signal.pthread_kill(threading.get_ident(), number))
    other.start()
    assert signals.next() == number
    other.join()
