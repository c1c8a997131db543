"""Several processes of a service, forked from one that has loaded everything: they share what they only read.

Apart they take some 70 MiB each, so about 25. The parent does nothing but look after them: what dies is started again,
SIGHUP and SIGTERM are passed on, and it ends when all have ended.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import signal
import time
from collections.abc import Callable, Mapping

from gunicorn.systemd import sd_notify

LOG = logging.getLogger(__name__)

PR_SET_PDEATHSIG = 1
"""prctl(2): the signal that a process gets when its parent is killed and nobody looks after it any more."""
LOOK_SECONDS = 0.2
PAUSE_SECONDS = 2.0
"""How long a member that ended by itself rests before it is started again."""


class Family:
    """:param members: name → what its process does, until a signal ends it"""

    def __init__(self, members: Mapping[str, Callable[[], None]]) -> None:
        self._members = members
        self._running: dict[int, str] = {}
        self._due: dict[str, float] = dict.fromkeys(members, 0.0)
        self._ending = False

    def run(self) -> None:
        """Start all, and look after them until SIGTERM or SIGINT."""
        gc.collect()
        gc.freeze()  # or every collection in a child would write to, and so copy, what it shares with the others
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        signal.signal(signal.SIGHUP, lambda number, _: self._tell(number))
        while not self._ending or self._running:
            self._start_due()
            self._bury()
            time.sleep(LOOK_SECONDS)

    def _end(self, _number: int, _frame: object) -> None:
        if not self._ending:
            sd_notify("STOPPING=1", LOG)
        self._ending = True
        self._tell(signal.SIGTERM)  # a second one ends them at once

    def _tell(self, number: int) -> None:
        for pid in list(self._running):
            os.kill(pid, number)

    def _start_due(self) -> None:
        now = time.monotonic()
        for name, when in list(self._due.items()):
            if when <= now and not self._ending:
                del self._due[name]
                self._fork(name)
                if not self._due:
                    sd_notify("READY=1", LOG)

    def _fork(self, name: str) -> None:
        signals = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
        # Held back until the child has its own handlers and we know of it.
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        pid = os.fork()
        if pid:
            self._running[pid] = name
            signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
            return
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        os.environ.pop("NOTIFY_SOCKET", None)  # it is the parent that systemd knows
        for number in signals:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
        code = 1
        try:
            self._members[name]()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            LOG.exception("%s ended", name)
        finally:
            logging.shutdown()
            os._exit(code)

    def _bury(self) -> None:
        while self._running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            name = self._running.pop(pid, "")
            if name and not self._ending:
                LOG.error("%s (process %d) has ended with %d and is started again", name, pid, status)
                self._due[name] = time.monotonic() + PAUSE_SECONDS
