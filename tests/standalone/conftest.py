from __future__ import annotations

import socket
import subprocess

import pytest

from pumice.standalone.up import Settings


@pytest.fixture
def free_port():
    """Gives another free port at each call."""

    def pick() -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]

    return pick


@pytest.fixture
def settings(tmp_path, free_port):
    return Settings(
        data_directory=tmp_path / "data",
        port=free_port(),
        keystone_port=free_port(),
        iscsi_port=free_port(),
        storage_size=1,
        user_clouds=tmp_path / "home" / "clouds.yaml",
    )


@pytest.fixture
def clean(settings):
    """Unmounts what a failed test left."""
    yield
    mount = settings.data_directory / "storage"
    while mount.is_mount():
        subprocess.run(["umount", mount], check=True)
