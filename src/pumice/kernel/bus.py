"""The doorbell and the fanout between the parts of a service.

Work itself lies in the journal's rows; a doorbell only says "look now" and may be lost, because sweeps find
what nobody was called for. Nothing here ever blocks or fails a request.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from oslo_config import cfg

LOG = logging.getLogger(__name__)

Payload = dict[str, Any]
NO_BROKER = (None, "", "local://")
"""Values of `transport_url` that mean one process."""
OUTBOX = 10_000
"""Messages that may wait to be handed over; what does not fit is dropped and counted."""


class Bus(Protocol):
    """Callbacks run in the bus's own threads, so they are quick: they wake somebody or note something."""

    @property
    def dropped(self) -> int:
        """How many messages were thrown away since the start: the broker was away, or the outbox full."""
        ...

    def ring(self, queue: str, operation_id: str) -> None:
        """Tell one listener of `queue` that the operation waits there. Returns at once, and never raises."""
        ...

    def listen(self, queue: str, callback: Callable[[str], None]) -> Callable[[], None]:
        """Call `callback(operation_id)` for doorbells of `queue`; each reaches one of the queue's listeners.

        :returns: what ends it, over a broker within seconds; what arrives in the meantime may be lost
        """
        ...

    def publish(self, topic: str, payload: Payload) -> None:
        """Send `payload` (JSON types, read-only for receivers) to all subscribers. Never blocks or raises."""
        ...

    def subscribe(self, topic: str, callback: Callable[[Payload], None]) -> Callable[[], None]:
        """Call `callback(payload)` for all that is published to `topic`.

        :returns: what ends it
        """
        ...

    def close(self) -> None:
        """End all listening and sending; what is rung or published afterwards is ignored."""
        ...


def deliver(callback: Callable[[Any], None], message: Any) -> None:
    """Hand `message` over; an exception of one callback is logged and keeps nothing from the others."""
    try:
        callback(message)
    except Exception:
        LOG.exception("a callback of the bus failed")


class LocalBus:
    """The bus when everything is one process: one small thread hands messages over in well under 1 ms.

    There is no thread until somebody listens. oslo.messaging's `fake://` would do the same job, but its listeners
    poll every 50 ms.
    """

    def __init__(self) -> None:
        self.dropped = 0
        self._closed = False
        self._lock = threading.Lock()
        self._listeners: dict[str, deque[Callable[[str], None]]] = {}
        self._subscribers: dict[str, deque[Callable[[Payload], None]]] = {}
        self._outbox: queue.Queue[Callable[[], None] | None] = queue.Queue(OUTBOX)
        self._thread = threading.Thread(target=self._hand_over, name="bus", daemon=True)
        self._started = False

    def ring(self, queue: str, operation_id: str) -> None:
        if queue in self._listeners:
            self._send(lambda: self._call_one(queue, operation_id))

    def publish(self, topic: str, payload: Payload) -> None:
        if topic in self._subscribers:
            self._send(lambda: self._call_all(topic, payload))

    def listen(self, queue: str, callback: Callable[[str], None]) -> Callable[[], None]:
        return self._register(self._listeners, queue, callback)

    def subscribe(self, topic: str, callback: Callable[[Payload], None]) -> Callable[[], None]:
        return self._register(self._subscribers, topic, callback)

    def close(self) -> None:
        self._closed = True
        with self._lock:
            self._listeners.clear()
            self._subscribers.clear()
        # The thread looks at `_closed` before each message; this wakes it when there is none.
        self._send(None)
        if self._started and threading.current_thread() is not self._thread:
            self._thread.join(5)

    def _register(
        self, table: dict[str, deque[Callable[[Any], None]]], name: str, callback: Callable[[Any], None]
    ) -> Callable[[], None]:
        def end() -> None:
            with self._lock:
                callbacks = table.get(name, deque())
                if entry in callbacks:
                    callbacks.remove(entry)
                if not callbacks:
                    table.pop(name, None)

        # An object of its own, so that one function may be registered twice and each be ended alone.
        def entry(message: Any) -> None:
            deliver(callback, message)

        with self._lock:
            table.setdefault(name, deque()).append(entry)
            if not self._started:
                self._started = True
                self._thread.start()
        return end

    def _send(self, delivery: Callable[[], None] | None) -> None:
        try:
            self._outbox.put_nowait(delivery)
        except queue.Full:
            self.dropped += 1

    def _hand_over(self) -> None:
        while (delivery := self._outbox.get()) is not None and not self._closed:
            delivery()

    def _call_one(self, queue: str, operation_id: str) -> None:
        with self._lock:
            callbacks = self._listeners.get(queue)
            if not callbacks:
                return
            callbacks.rotate(-1)
            callback = callbacks[-1]
        callback(operation_id)

    def _call_all(self, topic: str, payload: Payload) -> None:
        with self._lock:
            callbacks = list(self._subscribers.get(topic, ()))
        for callback in callbacks:
            callback(payload)


def make_bus(conf: cfg.ConfigOpts, namespace: str = "pumice") -> Bus:
    """The bus that `transport_url` names: in-process when it is empty or `local://`, else oslo.messaging.

    :param namespace: keeps services apart that share a broker ("block", "share")
    """
    if conf.transport_url in NO_BROKER:
        return LocalBus()
    # Imported only where a broker is: oslo.messaging costs 0.3 s at every start.
    from pumice.kernel.messaging import MessagingBus  # noqa: PLC0415

    return MessagingBus(conf, namespace)
