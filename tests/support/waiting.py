"""Waiting for what comes about by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

LONG = 30.0
"""Seconds: what takes a moment takes longer where others are at work, or where the machine stands still for a while."""


def eventually(holds: Callable[[], Any], seconds: float = LONG, why: Callable[[], str] = lambda: "") -> Any:
    """What `holds` answers as soon as that is true; where it does not become so, `why` tells more."""
    end = time.monotonic() + seconds
    while True:
        found = holds()
        if found:
            return found
        assert time.monotonic() < end, f"{holds} does not hold after {seconds} s {why()}"
        time.sleep(0.02)
