"""A process of a service, from its start to the signal that ends it.

    SIGTERM, SIGINT    take nothing new, let what runs end for `graceful_shutdown_timeout` seconds, hand back the rest;
                       exit 0. A second one ends the process at once
    SIGHUP             log as the configuration files say now, into files that are opened anew

Processes that serve requests are in `kernel.webserver`.
"""

from __future__ import annotations

import logging
import os
import queue
import signal
from collections.abc import Callable, Collection
from contextlib import ExitStack, suppress
from typing import TypeVar

from gunicorn.systemd import sd_notify
from oslo_config import cfg
from oslo_db import exception as db_errors

from pumice.kernel import logging as kernel_logging
from pumice.kernel import supervision
from pumice.kernel.bus import NO_BROKER
from pumice.kernel.config import ConfigError
from pumice.kernel.locks import LockServiceAway
from pumice.kernel.serving import BackendService

LOG = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
LOOK_SECONDS = 1.0
Address = tuple[str, int]

T = TypeVar("T")


class Ended(Exception):
    """The process was told to end before it had begun."""


class Signals:
    """The signals that a process is sent, in the order of their coming."""

    def __init__(self) -> None:
        self._sent: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if (number, signal.getsignal(number)) != (signal.SIGHUP, signal.SIG_IGN):  # as `nohup` leaves it
                signal.signal(number, self._note)

    def _note(self, number: int, _frame: object) -> None:
        if number != signal.SIGHUP:
            for ending in (signal.SIGTERM, signal.SIGINT):
                signal.signal(ending, signal.SIG_DFL)
        self._sent.put(number)

    def next(self) -> int:
        """Wait for one, in the main thread."""
        while True:
            # Not without end: one that came to another thread, or right before the wait, is noted only after it.
            with suppress(queue.Empty):
                return self._sent.get(timeout=LOOK_SECONDS)

    def pause(self, seconds: float) -> None:
        """:raises Ended: a signal to end came meanwhile"""
        try:
            number = self._sent.get(timeout=seconds)
        except queue.Empty:
            return
        if number != signal.SIGHUP:
            raise Ended


def once_reachable(make: Callable[[], T], pause: Callable[[float], object]) -> T:
    """What `make` makes, once the servers that it needs can be reached; until then it is tried again and again."""
    told = False
    while True:
        try:
            return make()
        except (db_errors.DBConnectionError, LockServiceAway) as error:
            if not told:
                LOG.warning("waiting for a server that cannot be reached: %s", error)
            told = True
            pause(RETRY_SECONDS)


def work(
    load: Callable[[], cfg.ConfigOpts],
    make: Callable[[cfg.ConfigOpts], BackendService],
    parts: Collection[str],
    *,
    name: str,
    health: Address | None = None,
) -> None:
    """Serve queues until a signal ends it.

    :param load: reads the configuration
    :param name: of the process, for its log
    :param health: where supervisors are answered
    :raises OSError: that address cannot be listened on
    """
    conf = load()
    kernel_logging.setup(conf, name)
    if conf.transport_url in NO_BROKER:
        LOG.warning("without transport_url, work of other processes is found by looking for it, which takes its time")
    signals = Signals()
    with ExitStack() as undo:
        try:
            service = once_reachable(lambda: make(conf), signals.pause)
            undo.callback(lambda: service.stop(float(conf.graceful_shutdown_timeout)))
            once_reachable(lambda: service.connect(parts), signals.pause)
        except Ended:
            return
        service.start(parts)
        if health is not None:
            undo.enter_context(supervision.listening(*health, service))
        LOG.info("%s is ready (process %d)", name, os.getpid())
        sd_notify("READY=1", LOG)
        while signals.next() == signal.SIGHUP:
            sd_notify("RELOADING=1", LOG)
            reload(load, conf, name)
            sd_notify("READY=1", LOG)
        sd_notify("STOPPING=1", LOG)
        LOG.info("%s ends: what runs has %d s to come to its end", name, conf.graceful_shutdown_timeout)


def reload(load: Callable[[], cfg.ConfigOpts], conf: cfg.ConfigOpts, name: str) -> cfg.ConfigOpts:
    """Log as the files say now. What they say is returned, or `conf` where they are wrong."""
    try:
        conf = load()
    except ConfigError as error:
        LOG.error("the configuration is wrong, and what was in force stays: %s", error)
    kernel_logging.setup(conf, name)
    LOG.info("%s logs as its configuration says now", name)
    return conf
