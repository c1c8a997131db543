"""Shares by `pumice up` as it is installed: created with the standard command, mounted, kept over a stop and a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.standalone.small import PUMICE, await_answer

OPENSTACK = str(Path(sys.executable).with_name("openstack"))


@pytest.fixture
def openstack(settings):
    """Runs `openstack` as the administrator; gives its answer."""

    def run(*words):
        answered = subprocess.run(
            [OPENSTACK, "--os-cloud", "pumice", *words, "-f", "json"],
            env=os.environ | {"OS_CLIENT_CONFIG_FILE": str(settings.data_directory / "clouds.yaml")},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert answered.returncode == 0, answered.stderr
        return json.loads(answered.stdout) if answered.stdout.strip() else None

    return run


def end(process, number=signal.SIGTERM):
    process.send_signal(number)
    return process.communicate(timeout=60)


def await_status(openstack, share, status="available"):
    deadline = time.monotonic() + 60
    while (found := openstack("share", "show", share))["status"] != status:
        assert time.monotonic() < deadline, found
        time.sleep(0.2)
    return found


def nfs(location, *words):
    """Runs a libnfs command on a file of a share; the location is told with its ports."""
    return subprocess.run([*words, location], capture_output=True, timeout=30, check=False)


@pytest.mark.real
def test_a_share_is_created_allowed_and_kept(launch, settings, openstack):
    process = launch(PUMICE)
    await_answer(settings, process)
    share = openstack("share", "create", "NFS", "1", "--name", "test")["id"]
    await_status(openstack, share)
    openstack("share", "access", "create", share, "ip", "127.0.0.1")
    deadline = time.monotonic() + 30
    while [rule["State"] for rule in openstack("share", "access", "list", share)] != ["active"]:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    (location,) = openstack("share", "export", "location", "list", share)
    said, complaints = end(process)
    assert (process.returncode, complaints) == (0, ""), said
    assert "Shares" in said
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM):
        process = launch(PUMICE)
        await_answer(settings, process)
        assert openstack("share", "show", share)["status"] == "available"
        assert openstack("share", "export", "location", "list", share) == [location]
        end(process, number)
    assert not (settings.data_directory / "storage").is_mount()
