"""The file servers of a `pumice up` that was killed."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import psutil

from pumice.standalone.directory import DataDirectory
from pumice.standalone.shares import remove_mounts


def end_file_servers(data: Path) -> None:
    """End what is left of them, and the mounts that they served."""
    for file in (data / "servers").glob("*/*.json"):
        record = json.loads(file.read_text())
        with suppress(KeyError, psutil.NoSuchProcess, ProcessLookupError):
            process = psutil.Process(record["pid"])
            if abs(process.create_time() - record["created"]) < 1:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(10)
    if data.exists():
        remove_mounts(DataDirectory(data).mounts())
