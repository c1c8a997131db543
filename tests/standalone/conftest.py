from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pumice.standalone.target import TargetDaemon
from pumice.standalone.up import Settings
from tests.support.fileservers import end_file_servers
from tests.support.ports import free_port

ROOT = Path(__file__).parents[2]
SMALL = [sys.executable, "-m", "tests.standalone.small"]


@pytest.fixture
def settings(tmp_path):
    return Settings(
        data_directory=tmp_path / "data",
        port=free_port(),
        share_port=free_port(),
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


@pytest.fixture
def launch(settings, clean):
    """Starts `pumice up`, or another program with its options; all ends with the test."""
    started = []

    def run(program=SMALL, **changes):
        arguments = {
            "data-dir": settings.data_directory,
            "port": settings.port,
            "share-port": settings.share_port,
            "keystone-port": settings.keystone_port,
            "iscsi-port": settings.iscsi_port,
            "storage-size": 1,
        } | changes
        options = [text for name, value in arguments.items() for text in (f"--{name}", str(value))]
        started.append(
            subprocess.Popen(
                # A script that runs these tests in the background has SIGINT ignored, and so would what they start.
                ["env", "--default-signal=INT", *program, *options],
                cwd=ROOT,
                env=os.environ | {"HOME": str(settings.data_directory.parent), "COLUMNS": "200"},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.communicate()
    end_file_servers(settings.data_directory)
    left = TargetDaemon(settings.data_directory / "tgtd", "127.0.0.1", None)
    left._process = left._left_behind()
    left.stop()
