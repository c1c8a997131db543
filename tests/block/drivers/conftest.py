from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pumice.block.drivers.base import SnapshotRef, VolumeRef
from pumice.block.drivers.file import FileDriver
from tests.support.loopfs import loop_filesystem
from tests.support.sections import section
from tests.support.tgtd import TgtdServer

MakeDriver = Callable[..., FileDriver]


def volume(size: int = 1) -> VolumeRef:
    return VolumeRef(str(uuid.uuid4()), size)


def snapshot(of: VolumeRef) -> SnapshotRef:
    return SnapshotRef(str(uuid.uuid4()), of, of.size)


@pytest.fixture(scope="session", params=["btrfs", "xfs", "ext4"])
def filesystem(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The root of a real file system, named as its kind."""
    with loop_filesystem(request.param, tmp_path_factory.mktemp("loop")) as root:
        yield root


@pytest.fixture(scope="module")
def tgtd() -> Iterator[TgtdServer]:
    with TgtdServer() as server:
        yield server


@pytest.fixture
def make_driver(tmp_path: Path) -> MakeDriver:
    """Makes and starts a file driver; all of a test share one state directory."""

    def make(directory: Path = tmp_path / "backend", **values: Any) -> FileDriver:
        values = {"tgtd_socket": str(tmp_path / "no-tgtd"), **values}
        driver = FileDriver(section(FileDriver, directory=str(directory), **values), name="files", state_dir=tmp_path)
        driver.start()
        return driver

    return make
