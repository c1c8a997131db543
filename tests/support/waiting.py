"""Waiting for what comes about by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

LONG = 15.0


def eventually(holds: Callable[[], Any], seconds: float = LONG) -> Any:
    """What `holds` answers as soon as that is true."""
    end = time.monotonic() + seconds
    while True:
        found = holds()
        if found:
            return found
        assert time.monotonic() < end, f"{holds} does not hold after {seconds} s"
        time.sleep(0.02)
