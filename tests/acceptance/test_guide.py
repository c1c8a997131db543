"""The users' guides, followed to the letter."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.preloaded import preloaded
from tests.acceptance.running import BIN, Member, Pumice, ShareMember

pytestmark = pytest.mark.real

GUIDES = Path(__file__).parents[2] / "docs" / "users"


def commands(text: str) -> str:
    """All indented blocks of a page, as one script."""
    lines = text.splitlines()
    return "\n".join(line.removeprefix("    ") for line in lines if line.startswith("    ") or not line)


def follow(guide: str, pumice: Pumice, directory: Path) -> str:
    """What its commands say, of which none may fail or complain."""
    programs = directory / "bin"
    programs.mkdir()
    with preloaded(programs):
        done = subprocess.run(
            ["sh", "-eu", "-c", commands((GUIDES / guide).read_text())],
            cwd=directory,
            env=pumice.environment() | {"PATH": f"{programs}:{BIN}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=580,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    complaints = [line for line in done.stderr.splitlines() if not line.startswith("putting file")]  # smbclient's news
    assert complaints == []
    return done.stdout


def test_volumes(pumice: Pumice, member: Member, tmp_path: Path) -> None:
    said = follow("volumes.md", pumice, tmp_path)
    assert "read 1048576/1048576 bytes" in said
    assert "verification failed" not in said
    assert "copy 2 available" in said
    for row in ("| copy-of-monday ", "| copy-of-now ", "| total_volumes_used          |     3 |"):
        assert row in said
    assert pumice.targets() == ""
    for kind in ("volumes", "snapshots", "attachments"):
        assert all(one["status"] == "deleting" for one in member.ok("GET", f"/{kind}/detail")[kind])


@pytest.mark.timeout(600)  # a long page, on a busy machine
def test_shares(pumice: Pumice, sharer: ShareMember, tmp_path: Path) -> None:
    said = follow("shares.md", pumice, tmp_path)
    assert said.count("written on Monday\n") == 2
    assert "  note  " in said
    assert "of-before 2 available ['127.0.0.1:/share-" in said
    for row in ("| totalSharesUsed              |     3 |", "| ip          | 127.0.0.1 | rw           | active |"):
        assert row in said
    assert all(one["status"] == "deleting" for one in sharer.ok("GET", "/shares/detail")["shares"])


def test_the_command_itself(pumice: Pumice) -> None:
    """What the pages are followed with is loaded beforehand; here it starts as it does for a person."""
    assert pumice.run("openstack", "volume", "list") == "\n"
    assert "Error" not in pumice.run("openstack", "share", "list")
