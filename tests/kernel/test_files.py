from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pumice.kernel.files import exclusive, write_private


def test_a_private_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("old and long")
    path.chmod(0o644)
    write_private(path, "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_threads_take_turns(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")

    def count(_: int) -> None:
        with exclusive(tmp_path / "lock"):
            write_private(counter, str(int(counter.read_text()) + 1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count, range(40)))
    assert counter.read_text() == "40"


def test_a_lock_file_is_not_followed_to_another(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("kept")
    (tmp_path / "lock").symlink_to(other)
    with pytest.raises(OSError, match="symbolic links"), exclusive(tmp_path / "lock"):
        pass
    assert other.read_text() == "kept"
