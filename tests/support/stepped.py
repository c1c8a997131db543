"""`pumice` in a process whose clock can be put wrong: `python -m tests.support.stepped ARGUMENTS`.

The file that PUMICE_CONFIG_FILE names has a `clock` beside it: the seconds that this process's time of day is off.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from pathlib import Path

from pumice.kernel.db import base

CLOCK = "clock"


def wrong(file: Path, right: Callable[[], datetime.datetime]) -> Callable[[], datetime.datetime]:
    def now() -> datetime.datetime:
        try:
            seconds = float(file.read_text())
        except (FileNotFoundError, ValueError):
            seconds = 0.0
        return right() + datetime.timedelta(seconds=seconds)

    return now


if __name__ == "__main__":
    # Before anything is imported that has it from there.
    base.utcnow = wrong(Path(os.environ["PUMICE_CONFIG_FILE"]).with_name(CLOCK), base.utcnow)
    from pumice.cli import main

    main()
