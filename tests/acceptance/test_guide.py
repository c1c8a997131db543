"""The users' guide, followed to the letter."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.running import BIN, Member, Pumice

pytestmark = pytest.mark.real

GUIDE = Path(__file__).parents[2] / "docs" / "users" / "volumes.md"


def commands(text: str) -> str:
    """All indented blocks of a page, as one script."""
    lines = text.splitlines()
    return "\n".join(line.removeprefix("    ") for line in lines if line.startswith("    ") or not line)


def test_its_commands_do_what_it_says(pumice: Pumice, member: Member, tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-eu", "-c", commands(GUIDE.read_text())],
        cwd=tmp_path,
        env=pumice.environment() | {"PATH": f"{BIN}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stderr == ""
    assert "read 1048576/1048576 bytes" in done.stdout
    assert "verification failed" not in done.stdout
    assert "copy 2 available" in done.stdout
    for row in ("| copy-of-monday ", "| copy-of-now ", "| total_volumes_used          |     3 |"):
        assert row in done.stdout
    assert pumice.targets() == ""
    for kind in ("volumes", "snapshots", "attachments"):
        assert all(one["status"] == "deleting" for one in member.ok("GET", f"/{kind}/detail")[kind])
