"""Shares by `pumice up` as it is installed: created with the standard command, and kept over a stop and a kill."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import openstack
import pytest

from pumice.standalone.directory import DataDirectory
from pumice.standalone.errors import StandaloneError
from pumice.standalone.shares import FileServers
from tests.standalone.small import PUMICE, await_answer
from tests.support.ports import free_port

COMMAND = str(Path(sys.executable).with_name("openstack"))


@pytest.fixture
def clouds(settings):
    return settings.data_directory / "clouds.yaml"


@pytest.fixture
def shares(clouds):
    """Connects to the API as the administrator."""
    made = []

    def connect():
        found = openstack.config.OpenStackConfig(config_files=[str(clouds)])
        made.append(openstack.connection.Connection(config=found.get_one(cloud="pumice")))
        return made[-1].shared_file_system

    yield connect
    for connection in made:
        connection.close()


def create(clouds):
    answered = subprocess.run(
        [COMMAND, "--os-cloud", "pumice", "share", "create", "NFS", "1", "--name", "test", "-f", "json"],
        env=os.environ | {"OS_CLIENT_CONFIG_FILE": str(clouds)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answered.returncode == 0, answered.stderr
    return json.loads(answered.stdout)["id"]


@pytest.mark.real
def test_a_share_is_created_and_kept(launch, settings, clouds, shares):
    process = launch(PUMICE)
    await_answer(settings, process)
    id = create(clouds)
    api = shares()
    share = api.wait_for_status(api.get_share(id), "available", failures=["error"], wait=60)
    paths = [location.path for location in api.export_locations(share)]
    assert paths
    process.send_signal(signal.SIGTERM)
    said, complaints = process.communicate(timeout=60)
    assert (process.returncode, complaints) == (0, ""), said
    assert f"http://127.0.0.1:{settings.share_port}/v2" in said
    for number in (signal.SIGKILL, signal.SIGTERM):
        process = launch(PUMICE)
        await_answer(settings, process)
        assert shares().get_share(id).status == "available"
        assert [location.path for location in shares().export_locations(share)] == paths
        process.send_signal(number)
        process.communicate(timeout=60)
    assert not (settings.data_directory / "storage").is_mount()


@pytest.mark.real
def test_a_kept_port_that_somebody_else_has_is_named(tmp_path):
    directory = DataDirectory(tmp_path / "data")
    directory.acquire()
    with socket.socket() as taken, ExitStack() as undo:
        undo.callback(directory.release)
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        kept = {"nfs": port, "mount": free_port(), "smb": free_port()}
        (directory.servers / "ports.json").write_text(json.dumps(kept))
        reason = rf"port {port} is taken by .* \(process {os.getpid()}\): stop that, or remove .*/ports.json"
        with pytest.raises(StandaloneError, match=reason):
            FileServers(directory, "127.0.0.1").start(undo)
