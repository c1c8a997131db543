"""Locks between all workers of a service, for what must be exclusive at a backend.

They guard storage, not rows: rows are guarded by conditional updates, and a holder whose lock service forgot it
may go on for a while.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from oslo_config import cfg

from pumice.kernel.oslo import coordination

# tooz keeps one table of file locks a process and fills it without a lock: two threads that ask for a name for
# the first time at once could both get it.
_ASKING = threading.Lock()


class LockTimeout(TimeoutError):
    """The lock was not free within the time given."""


class Locks:
    """:param conf: the service's, for `[coordination] backend_url` and `host`"""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        member = f"{conf.host}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._coordinator: Any = coordination.get_coordinator(conf.coordination.backend_url, member.encode())

    def start(self) -> None:
        """Connect to the lock service, and keep what is held alive from a thread."""
        self._coordinator.start(start_heart=True)

    def stop(self) -> None:
        self._coordinator.stop()

    @contextmanager
    def hold(self, name: str, *, timeout: float | None = None) -> Iterator[None]:
        """Hold the lock `name` alone among all threads and workers; not reentrant.

        :param timeout: seconds to wait for it at most; None waits without end
        :raises LockTimeout: it was not free in time
        """
        with _ASKING:
            lock = self._coordinator.get_lock(f"pumice-{name}".encode())
        # Not `timeout=`: the etcd driver takes that for the life of its lease.
        if not lock.acquire(blocking=True if timeout is None else timeout):
            raise LockTimeout(f"lock {name} was not free within {timeout} s")
        try:
            yield
        finally:
            lock.release()
