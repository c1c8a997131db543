"""Locks between all workers of a service, for what must be exclusive at a backend.

They guard storage, not rows: rows are guarded by conditional updates, and a holder whose lock service forgot it
may go on for a while.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from oslo_config import cfg
from stevedore.exception import NoMatches
from tooz import coordination
from tooz.drivers.file import FileLock

from pumice.kernel.config import ConfigError

LOG = logging.getLogger(__name__)

# Threads of this process take turns at a name before they ask tooz, because POSIX file locks belong to processes:
# whoever closes the file, even after a failed attempt, ends the lock of any other thread. The table is the
# process's, not a service's, for several services of one process may share a directory.
_TURNS: WeakValueDictionary[tuple[str, str], threading.Lock] = WeakValueDictionary()
_TURNS_LOCK = threading.Lock()


STOP_SECONDS = 10.0


class LockTimeout(TimeoutError):
    """The lock was not free within the time given, or the lock service did not answer."""


class LockServiceAway(Exception):
    """The lock service cannot be reached yet."""


class Locks:
    """:param conf: the service's, for `[coordination] backend_url` and `host`"""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._url: str = conf.coordination.backend_url
        self._host = conf.host
        self._coordinator: Any = None

    def start(self) -> None:
        """Connect to the lock service, and keep what is held alive from a thread; once started, nothing.

        :raises LockServiceAway: it does not answer
        :raises ConfigError: its library is not installed, or there is no such kind
        """
        if self._coordinator is not None:
            return
        member = f"{self._host}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        try:
            coordinator = coordination.get_coordinator(self._url, member.encode())
            coordinator.start(start_heart=True)
        except (ImportError, NotImplementedError, NoMatches) as error:
            kind = self._url.partition(":")[0]
            raise ConfigError(f"[coordination] backend_url: {kind} cannot be used here: {error}") from error
        except Exception as error:  # each driver has other errors
            raise LockServiceAway(f"{self._url.partition(':')[0]} does not answer: {error}") from error
        self._coordinator = coordinator

    def stop(self) -> None:
        if self._coordinator is None:
            return
        # tooz waits for its heart, which tries for ever to beat while the service is away.
        stopping = threading.Thread(target=self._stop, args=(self._coordinator,), name="locks-stop", daemon=True)
        stopping.start()
        stopping.join(STOP_SECONDS)

    def _stop(self, coordinator: Any) -> None:
        try:
            coordinator.stop()
        except Exception as error:
            LOG.warning("the lock service was not told of the end, and finds it out: %s", error, exc_info=True)

    @contextmanager
    def hold(self, name: str, *, timeout: float | None = None) -> Iterator[None]:
        """Hold the lock `name` alone among all threads and workers; not reentrant.

        :param timeout: seconds to wait for it at most; None waits without end, and so does ZooKeeper's client while it
            has no connection
        :raises LockTimeout: it was not free in time, or the lock service does not answer
        """
        with _TURNS_LOCK:
            turn = _TURNS.setdefault((self._url, name), threading.Lock())
        began = time.monotonic()
        if not turn.acquire(timeout=-1 if timeout is None else timeout):
            raise LockTimeout(f"lock {name} was not free within {timeout} s")
        try:
            lock = self._acquire(name, timeout, began)
            try:
                yield
            finally:
                if isinstance(lock, FileLock):
                    # No file is left for each thing that ever was; who waits on this one sees that it is gone.
                    Path(os.fsdecode(lock._lock.path)).unlink(missing_ok=True)  # noqa: SLF001
                self._release(name, lock)
        finally:
            turn.release()

    def _acquire(self, name: str, timeout: float | None, began: float) -> Any:
        while True:
            lock = self._coordinator.get_lock(f"pumice-{name}".encode())
            # Not `timeout=`: the etcd driver takes that for the life of its lease. Nor 0: kazoo waits without end then.
            blocking = True if timeout is None else max(0.0, timeout - (time.monotonic() - began)) or False
            try:
                acquired = lock.acquire(blocking=blocking)
            except Exception as error:
                # Each driver has other errors, both for a lock that is not free in time and for a service that is away.
                raise LockTimeout(f"lock {name} was not free within {timeout} s: {error!r}") from error
            if not acquired:
                if isinstance(lock, FileLock):
                    # tooz leaves the file of a failed attempt open until the lock is collected, at any later moment.
                    lock._lock.lockfile.close()  # noqa: SLF001
                raise LockTimeout(f"lock {name} was not free within {timeout} s")
            if not isinstance(lock, FileLock) or os.fstat(lock._lock.lockfile.fileno()).st_nlink:  # noqa: SLF001
                return lock
            lock.release()  # its holder has removed the file meanwhile: it locks nothing any more

    def _release(self, name: str, lock: Any) -> None:
        try:
            lock.release()
        except Exception as error:
            # What it was held for is done. The service frees what nobody keeps alive.
            LOG.warning("lock %s could not be given back: %s", name, error, exc_info=True)
        # The etcd driver goes on keeping alive what it could not release.
        kept = getattr(self._coordinator, "_acquired_locks", None)
        if isinstance(kept, set):
            kept.discard(lock)
