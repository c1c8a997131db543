"""oslo.messaging on plain threads, and the bus over it, for services of several processes.

Importing it imports eventlet wherever that is installed, which warns that it is deprecated; oslo.service, below
it, takes eventlet as its back end unless told otherwise first.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
import uuid
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oslo_config import cfg

from pumice.kernel.bus import OUTBOX, Payload, deliver

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from oslo_service import backend

    backend.init_backend(backend.BackendType.THREADING)
    import oslo_messaging
    from oslo_messaging._metrics import client as metrics
    from oslo_messaging._tracing import client as tracing

__all__ = ["MessagingBus", "messaging_conf", "oslo_messaging"]

LOG = logging.getLogger(__name__)

EXCHANGE = "pumice"
STOP_SECONDS = 5
RETRY_SECONDS = 3
_NOT_FOUND = 404
"""AMQP's reply code."""


def messaging_conf(conf: cfg.ConfigOpts) -> cfg.ConfigOpts:
    """A ConfigOpts for one oslo.messaging transport, on the files that `conf` was read from.

    Its own, because oslo.messaging registers options as it goes along whose names we have too, with other
    defaults (`transport_url`).
    """
    own = cfg.ConfigOpts()
    own(args=[], project="pumice", default_config_files=list(conf.config_file), default_config_dirs=[])
    # oslo.messaging registers these on the global configuration only. Without them, a server on any other
    # one swallows every message, silently.
    own.register_opts(tracing.oslo_messaging_tracing, group="oslo_messaging_tracing")
    own.register_opts(metrics.oslo_messaging_metrics, group="oslo_messaging_metrics")
    return own


@dataclass(frozen=True, slots=True)
class _Mail:
    topic: str
    fanout: bool
    message: Any


class _Endpoint:
    """What oslo.messaging calls for a message; its one method is the name in every cast."""

    def __init__(self, callback: Callable[[Any], None]) -> None:
        self._callback = callback

    def receive(self, _context: dict[str, Any], message: Any) -> None:
        deliver(self._callback, message)


class _Listener:
    """One server on one topic. Starting it waits for the broker, so that happens in a thread of its own."""

    def __init__(self, transport: Any, topic: str, callback: Callable[[Any], None]) -> None:
        # A name of its own: two servers of one name share a queue, and one of them misses every fanout.
        name = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._transport = transport
        self._target = oslo_messaging.Target(exchange=EXCHANGE, topic=topic, server=name)
        self._endpoint = _Endpoint(callback)
        self._lock = threading.Lock()
        self._server: Any = None
        self._stopped = threading.Event()
        self._ending = threading.Thread(target=self._leave, name=f"bus-end-{topic}", daemon=True)
        threading.Thread(target=self._start, name=f"bus-{topic}", daemon=True).start()

    def _start(self) -> None:
        while not self._stopped.is_set():
            try:
                server = oslo_messaging.get_rpc_server(self._transport, self._target, [self._endpoint])
                server.start()
            except Exception:
                # Whatever the broker's library raises: a listener that gave up would be deaf for good.
                LOG.warning("cannot listen on %s yet", self._target.topic, exc_info=True)
                self._stopped.wait(RETRY_SECONDS)
                continue
            with self._lock:
                self._server = server
                stopped = self._stopped.is_set()
            if stopped:
                self._leave()
            return

    def end(self) -> None:
        """Have it stop, in a thread of its own: oslo.messaging takes a second for each."""
        with self._lock:
            if self._stopped.is_set():
                return
            self._stopped.set()
        self._ending.start()

    def wait(self, seconds: float = 2.0 * STOP_SECONDS) -> None:
        """Let callbacks that run come to their end, after `end`."""
        self._ending.join(seconds)

    def _leave(self) -> None:
        if self._server is None:
            return
        self._server.stop()
        try:
            # Only this closes the connection; until then the broker goes on sending what nobody hears.
            self._server.wait(timeout=STOP_SECONDS)
        except oslo_messaging.server.TaskTimeout:
            LOG.warning("a callback of %s is still running", self._target.topic)


def _nobody_listens(error: Exception) -> bool:
    """Whether a message found no exchange: the broker removes a topic's with the last who has subscribed to it."""
    return getattr(error.__context__, "code", None) == _NOT_FOUND


class MessagingBus:
    """Doorbells are casts to a topic, of which the broker gives each to one listener; the rest is fanout.

    A cast to a topic that nobody declared yet is lost without an error, one more reason why this is only a
    doorbell. Sending is done by one thread from a bounded outbox: while the broker is away the outbox fills up
    and what does not fit is dropped. There is no thread and no connection until something is sent or listened for.

    :param conf: the service's; `transport_url` and the files with `[oslo_messaging_rabbit]`
    """

    def __init__(self, conf: cfg.ConfigOpts, namespace: str) -> None:
        self.dropped = 0
        self._namespace = namespace
        own = messaging_conf(conf)
        self._transport = oslo_messaging.get_rpc_transport(own, url=conf.transport_url)
        self._brokers = len(oslo_messaging.TransportURL.parse(own, conf.transport_url).hosts)
        if "oslo_messaging_rabbit" in own:
            # Its own default lets more and more time pass between attempts to connect, 30 s in the end.
            own.set_default("rabbit_interval_max", RETRY_SECONDS, group="oslo_messaging_rabbit")
        self._outbox: queue.Queue[_Mail | None] = queue.Queue(OUTBOX)
        self._closed = False
        self._lock = threading.Lock()
        self._listeners: list[_Listener] = []
        self._sender: threading.Thread | None = None

    def ring(self, queue: str, operation_id: str) -> None:
        self._post(_Mail(self._topic("queue", queue), fanout=False, message=operation_id))

    def publish(self, topic: str, payload: Payload) -> None:
        self._post(_Mail(self._topic("topic", topic), fanout=True, message=payload))

    def listen(self, queue: str, callback: Callable[[str], None]) -> Callable[[], None]:
        return self._listen(self._topic("queue", queue), callback)

    def subscribe(self, topic: str, callback: Callable[[Payload], None]) -> Callable[[], None]:
        return self._listen(self._topic("topic", topic), callback)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            listeners = list(self._listeners)
        for listener in listeners:
            listener.end()
        deadline = time.monotonic() + 2 * STOP_SECONDS
        for listener in listeners:
            listener.wait(max(0.0, deadline - time.monotonic()))
        try:
            self._outbox.put_nowait(None)
        except queue.Full:
            LOG.debug("closing with a full outbox")
        if self._sender is not None:
            # It may hang in a connection attempt; it is a daemon and ends with the process then.
            self._sender.join(STOP_SECONDS)
        self._transport.cleanup()

    def _topic(self, kind: str, name: str) -> str:
        return f"{EXCHANGE}.{self._namespace}.{kind}.{name}"

    def _listen(self, topic: str, callback: Callable[[Any], None]) -> Callable[[], None]:
        listener = _Listener(self._transport, topic, callback)
        with self._lock:
            self._listeners.append(listener)
        return listener.end

    def _post(self, mail: _Mail) -> None:
        if self._closed:
            return
        if self._sender is None:
            self._start_sender()
        try:
            self._outbox.put_nowait(mail)
        except queue.Full:
            self.dropped += 1

    def _start_sender(self) -> None:
        with self._lock:
            if self._sender is None:
                self._sender = threading.Thread(target=self._send_all, name="bus-sender", daemon=True)
                self._sender.start()

    def _send_all(self) -> None:
        # Each broker once, in whatever order: with one of several away, the next is asked at once.
        retry = max(self._brokers - 1, 0)
        client = oslo_messaging.get_rpc_client(self._transport, oslo_messaging.Target(exchange=EXCHANGE), retry=retry)
        failing = False
        while (mail := self._outbox.get()) is not None and not self._closed:
            try:
                client.prepare(topic=mail.topic, fanout=mail.fanout).cast({}, "receive", message=mail.message)
                failing = False
            except Exception as error:
                if mail.fanout and _nobody_listens(error):
                    continue
                self.dropped += 1
                # Once an outage, not once a message; a broker that is away is no news that needs a traceback.
                LOG.log(
                    logging.DEBUG if failing else logging.WARNING,
                    "the broker takes nothing: %s",
                    error,
                    exc_info=failing,
                )
                failing = True
