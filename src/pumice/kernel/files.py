"""Files that several threads and processes read and write."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Alone among all who ask for the lock file `path`.

    A lock by flock belongs to the open file, so it stands between threads as well as between processes.
    """
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def write_private(path: Path, text: str) -> None:
    """Replace `path` at once with a file of mode 0600; a crash leaves the old one or the new one."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.new")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def give_to_owner_of_directory(path: Path) -> None:
    """Let what root makes belong to the user whose directory it lies in, who is to open it too; of others nothing."""
    if os.geteuid() == 0:
        directory = path.parent.stat()
        # Never through a link: the directory's owner may have put one there, to be given what it leads to.
        os.chown(path, directory.st_uid, directory.st_gid, follow_symlinks=False)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
