"""Waiting for what comes about by itself."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

LONG = 30.0
"""Seconds: what takes a moment takes longer where others are at work, or where the machine stands still for a while."""


def patience(seconds: float) -> float:
    """The limit that a machine with nothing else to do has to keep, for this one with what else it does: it may have
    begun a moment ago."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)) + 10


def eventually(holds: Callable[[], Any], seconds: float = LONG, why: Callable[[], str] = lambda: "") -> Any:
    """What `holds` answers as soon as that is true; where it does not become so, `why` tells more."""
    end = time.monotonic() + seconds
    while True:
        found = holds()
        if found:
            return found
        assert time.monotonic() < end, f"{holds} does not hold after {seconds} s {why()}"
        time.sleep(0.02)
