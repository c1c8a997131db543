"""Copies of sparse files: by reflink where the file system can, else by the data alone."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

FICLONE = 0x40049409  # _IOW(0x94, 9, int) of linux/fs.h; the same number on every architecture Linux runs KVM on
_CHUNK = 64 * 1024 * 1024


def unnamed_file(directory: Path) -> int:
    """A file descriptor of a new empty file (mode 0600) without a name, gone with its last descriptor.

    `name_file` gives it one; until then a crash leaves nothing behind.
    """
    return os.open(directory, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)


def name_file(file: int, path: Path) -> None:
    """Put an unnamed file at `path`, whole and durable.

    :raises FileExistsError: something is there; it is never replaced
    """
    os.fsync(file)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Given a dst_dir_fd Python calls linkat(AT_SYMLINK_FOLLOW), which is what naming such a file takes.
        os.link(f"/proc/self/fd/{file}", path.name, dst_dir_fd=directory, follow_symlinks=True)
        os.fsync(directory)
    finally:
        os.close(directory)


def can_reflink(directory: Path) -> bool:
    """Whether files in `directory` can share their data, found out by doing it."""
    source, target = unnamed_file(directory), unnamed_file(directory)
    try:
        os.write(source, b"\0" * 65536)
        fcntl.ioctl(target, FICLONE, source)
    except OSError as error:
        if error.errno in {errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL, errno.ENOSYS}:
            return False
        raise
    finally:
        os.close(source)
        os.close(target)
    return True


def reflink(source: int, target: int) -> None:
    """Give the empty file `target` the data of `source`, as of one moment."""
    fcntl.ioctl(target, FICLONE, source)


def copy_sparse(source: int, target: int) -> None:
    """Copy the data of `source` into the empty file `target`, holes left out; both end at the same size."""
    size = os.fstat(source).st_size
    os.ftruncate(target, size)
    offset = 0
    while offset < size:
        try:
            start = os.lseek(source, offset, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole up to the end
                return
            raise
        offset = os.lseek(source, start, os.SEEK_HOLE)
        while start < offset:
            copied = os.copy_file_range(source, target, min(offset - start, _CHUNK), start, start)
            if not copied:
                raise OSError(errno.EIO, "the source became shorter while it was copied")
            start += copied
