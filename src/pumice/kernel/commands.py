"""Commands that drivers run."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass

from pumice.kernel.drivers import BackendError, NoSpace


@dataclass(frozen=True, slots=True)
class Said:
    """What a command that succeeded wrote to its two outputs."""

    output: str
    errors: str


def run(*command: str, seconds: float = 60) -> Said:
    """Run a command to its end, in the language that programs are read in.

    :raises NoSpace: it failed because there is no room left
    :raises BackendError: it failed, was not there or took longer; the text is what it complained of
    """
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except FileNotFoundError:
        raise BackendError(f"the command {command[0]} is missing") from None
    except subprocess.TimeoutExpired:
        raise BackendError(f"{command[0]} did not end within {seconds:g} s") from None
    if not done.returncode:
        return Said(done.stdout, done.stderr)
    complaint = " ".join(done.stderr.split()) or f"{command[0]} ended with {done.returncode}"
    full = "No space left on device" in complaint or "Disk quota exceeded" in complaint
    raise (NoSpace if full else BackendError)(complaint)
