"""btrfs subvolumes and their limits, by the commands of btrfs-progs (6.0 or newer) and a few system calls."""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pumice.kernel.commands import Said, run
from pumice.kernel.drivers import BackendError
from pumice.kernel.files import sync_directory

_SECONDS = 300
_ROOT_INODE = 256  # of every subvolume, and of no other directory
_FS_INFO = 0x8400941F  # BTRFS_IOC_FS_INFO: _IOR(0x94, 31, 1024 bytes), the file system's id at 16
_RENAME_EXCHANGE = 2
_LEVELS = 8  # more than any tree has
_USAGE = re.compile(r"0/[0-9]+ +(?P<referenced>[0-9]+) +[0-9]+ +(?P<limit>none|[0-9]+) +(?P<path>.+)")
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Usage:
    """What a subvolume refers to, shared or not, and how much it may; in bytes, `limit` None: as much as there is."""

    referenced: int
    limit: int | None


def is_subvolume(path: Path) -> bool:
    try:
        return path.is_dir() and not path.is_symlink() and path.stat().st_ino == _ROOT_INODE
    except OSError:
        return False


def is_read_only(path: Path) -> bool:
    return _btrfs("property", "get", "-ts", str(path), "ro").output.strip() == "ro=true"


def create(path: Path) -> None:
    _btrfs("subvolume", "create", str(path))


def snapshot(source: Path, target: Path, *, read_only: bool = False) -> None:
    _btrfs("subvolume", "snapshot", *(["-r"] if read_only else []), str(source), str(target))


def delete(path: Path) -> None:
    """Remove a subvolume, for good also when the machine stops now. Its room comes back a little later."""
    _btrfs("subvolume", "delete", "--commit-after", str(path))


def limit(path: Path, size: int) -> None:
    """Let a subvolume refer to no more than `size` bytes: writes beyond fail with EDQUOT."""
    _btrfs("qgroup", "limit", str(size), str(path))


def usage(path: Path, *, exact: bool = False) -> Usage:
    """:param exact: count what is on its way to the disk too, which is written for that"""
    if exact:
        _btrfs("filesystem", "sync", str(path))
    [(_, found)] = _usages(_btrfs("qgroup", "show", "--raw", "-r", "-f", str(path)).output)
    return found


def usages(directory: Path) -> dict[str, Usage]:
    """Of all subvolumes of a file system that has `directory`, by their paths from its top.

    Where the kernel has lost count, it is made to count again; what it still knows of subvolumes that are gone, it
    is made to forget.
    """
    said = _btrfs("qgroup", "show", "--raw", "-r", str(directory))
    with suppress(BackendError):  # it is counting already
        if "inconsistent" in said.errors:
            _btrfs("quota", "rescan", str(directory))
    with suppress(BackendError):  # newer kernels do it themselves, and refuse until they have
        if "<stale>" in said.output:
            _btrfs("qgroup", "clear-stale", str(directory))
    return dict(_usages(said.output))


def _usages(table: str) -> Iterator[tuple[str, Usage]]:
    for line in table.splitlines():
        if found := _USAGE.fullmatch(line.strip()):
            most = found["limit"]
            yield found["path"], Usage(int(found["referenced"]), None if most == "none" else int(most))


def exchange(first: Path, second: Path) -> None:
    """Let two names in one directory change places, at once and for good."""
    at_here = -100
    if _libc.renameat2(at_here, os.fsencode(first), at_here, os.fsencode(second), _RENAME_EXCHANGE):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(first))
    sync_directory(first.parent)


def move(source: Path, target: Path) -> None:
    """Rename a subvolume for good; nothing may be at `target`."""
    if source.parent != target.parent and is_read_only(source):  # which can change its name, but not its directory
        snapshot(source, target, read_only=True)
        delete(source)
        return
    source.rename(target)
    for directory in {source.parent, target.parent}:
        sync_directory(directory)


def enable_quotas(directory: Path) -> None:
    """See that limits hold on the file system; the first time this takes as long as reading all its metadata.

    :raises BackendError: it is no btrfs, or it keeps only simple quotas, in which shares made of snapshots are free
    """
    state = Path(f"/sys/fs/btrfs/{_filesystem_id(directory)}/qgroups")
    if not state.exists():
        _btrfs("quota", "enable", str(directory))
        _btrfs("quota", "rescan", "--wait-norescan", str(directory))  # enabling has begun one
    if (state / "mode").exists() and (state / "mode").read_text().strip() != "qgroup":
        raise BackendError(f"{directory} has simple quotas; shares need full ones: `btrfs quota disable` first")
    # Newer kernels give up counting when a large snapshot is deleted, until all is counted again: not here.
    with suppress(FileNotFoundError):
        (state / "drop_subtree_threshold").write_text(str(_LEVELS))


def _filesystem_id(directory: Path) -> uuid.UUID:
    info = bytearray(1024)
    file = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(file, _FS_INFO, info)
    except OSError as error:
        raise BackendError(f"{directory} is not on btrfs") from error
    finally:
        os.close(file)
    return uuid.UUID(bytes=bytes(info[16:32]))


def _btrfs(*arguments: str) -> Said:
    return run("btrfs", *arguments, seconds=_SECONDS)
