from __future__ import annotations

import os

import pytest

from pumice.standalone.directory import DataDirectory
from pumice.standalone.errors import StandaloneError


def test_a_second_holder_is_told_who_the_first_is(tmp_path):
    first, second = DataDirectory(tmp_path / "data"), DataDirectory(tmp_path / "data")
    first.acquire()
    with pytest.raises(StandaloneError, match=rf"already runs on .*data \(process {os.getpid()}\)"):
        second.acquire()
    first.release()
    second.acquire()
    second.release()


def test_the_directory_is_its_owners_alone(tmp_path):
    directory = DataDirectory(tmp_path / "data")
    directory.acquire()
    directory.release()
    assert directory.path.stat().st_mode & 0o777 == 0o700


def test_a_place_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StandaloneError, match=r"data directory .*/file/data"):
        DataDirectory(tmp_path / "file" / "data").acquire()
