from __future__ import annotations

import subprocess

import pytest

from pumice.standalone import storage
from pumice.standalone.errors import StandaloneError


@pytest.fixture
def place(tmp_path):
    path = tmp_path / "storage"
    path.mkdir()
    yield tmp_path / "storage.btrfs", path
    while path.is_mount():
        subprocess.run(["umount", path], check=True)


def loop_devices(image):
    return subprocess.run(["losetup", "-j", image], capture_output=True, text=True, check=True).stdout


def test_the_file_system_is_made_once_and_keeps_its_files(place):
    image, path = place
    first = storage.open_storage(image, path, 1)
    assert first.mounted
    assert "btrfs, 1 GiB" in first.note
    (path / "kept").write_text("data")
    assert storage.close_storage(first)
    assert not path.is_mount()
    assert loop_devices(image) == ""
    again = storage.open_storage(image, path, None)
    assert (path / "kept").read_text() == "data"
    assert image.stat().st_blocks * 512 < 100 * 2**20
    assert storage.close_storage(again)


def test_a_mount_that_a_killed_process_left_is_taken_over(place):
    image, path = place
    storage.open_storage(image, path, 1)
    taken_over = storage.open_storage(image, path, None)
    assert len(loop_devices(image).splitlines()) == 1
    assert storage.close_storage(taken_over)


def test_a_larger_size_grows_it(place):
    image, path = place
    storage.open_storage(image, path, 1)
    grown = storage.open_storage(image, path, 2)
    assert "2 GiB" in grown.note
    found = subprocess.run(["df", "--output=size", "-B1", path], capture_output=True, text=True, check=True).stdout
    assert int(found.split()[-1]) == 2 * storage.GIB


def test_a_mount_of_something_else_is_refused(place):
    image, path = place
    image.write_text("")
    subprocess.run(["mount", "-t", "tmpfs", "none", path], check=True)
    with pytest.raises(StandaloneError, match="is a mount of something else"):
        storage.open_storage(image, path, None)


def test_storage_in_use_stays_mounted_and_is_said_so(place):
    image, path = place
    opened = storage.open_storage(image, path, 1)
    with (path / "open").open("w"):
        assert not storage.close_storage(opened, patience=0.3)
    assert storage.close_storage(opened)


def test_a_user_gets_a_plain_directory(place, monkeypatch):
    image, path = place
    monkeypatch.setattr(storage.os, "geteuid", lambda: 1000)
    opened = storage.open_storage(image, path, None)
    assert not opened.mounted
    assert "plain directory" in opened.note
    assert not image.exists()


def test_what_the_first_start_chose_stays(place):
    image, path = place
    (path / "volumes").mkdir()
    opened = storage.open_storage(image, path, None)
    assert not opened.mounted
    assert not image.exists()


def test_a_disk_that_is_too_small_is_refused_with_both_numbers(place):
    image, path = place
    with pytest.raises(StandaloneError, match=r"too small: \d+\.\d GiB are free, 1000000 GiB are needed"):
        storage.open_storage(image, path, 1_000_000)
    assert not image.exists()


def test_the_default_is_a_share_of_what_is_free(tmp_path, monkeypatch):
    def free(gib):
        monkeypatch.setattr(storage.shutil, "disk_usage", lambda _: type("", (), {"free": gib * storage.GIB}))

    free(100)
    assert storage.choose_size(tmp_path, None) == 80
    free(100_000)
    assert storage.choose_size(tmp_path, None) == storage.LARGEST_DEFAULT
    free(1)
    with pytest.raises(StandaloneError, match=r"1\.0 GiB are free, 1 GiB are needed"):
        storage.choose_size(tmp_path, None)


def test_a_missing_tool_is_named_with_its_package():
    with pytest.raises(StandaloneError, match=r"^mkfs\.nothing is missing: apt-get install nothing-progs$"):
        storage.find_tool("mkfs.nothing", "nothing-progs")


def test_what_a_tool_says_is_told_without_the_hint_behind_it():
    script = "echo 'mount: permission denied.' >&2; echo '       dmesg(1) may have more information.' >&2; exit 32"
    with pytest.raises(StandaloneError, match=r"^sh failed: mount: permission denied\.$"):
        storage._run("sh", "dash", "-c", script)
