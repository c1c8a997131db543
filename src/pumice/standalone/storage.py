"""Where volumes lie: a btrfs file system in a sparse file where that can be had, else a plain directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from .errors import StandaloneError

GIB = 1024**3
SHARE_OF_FREE = 0.8
LARGEST_DEFAULT = 500
SMALLEST = 1


@dataclass(frozen=True, slots=True)
class Storage:
    """An open place for volumes; `note` says in a few words what it is, and what it lacks."""

    path: Path
    mounted: bool
    note: str


def choose_size(directory: Path, wanted: int | None) -> int:
    """GiB for a new file system in `directory`: `wanted`, or 80% of what is free there, at most 500.

    :raises StandaloneError: the disk has less room than that, or hardly any
    """
    free = shutil.disk_usage(directory).free / GIB
    size = wanted if wanted is not None else min(int(free * SHARE_OF_FREE), LARGEST_DEFAULT)
    if size < SMALLEST or size > free:
        need = max(size, SMALLEST)
        raise StandaloneError(f"the disk of {directory} is too small: {free:.1f} GiB are free, {need} GiB are needed")
    return size


def open_storage(image: Path, path: Path, size: int | None) -> Storage:
    """Make or find the storage, and mount it at `path` if it is an image. What the first start chose stays.

    :param size: GiB for the file system; an existing one is grown to it
    :raises StandaloneError: the disk is too small, or an existing file system cannot be mounted
    """
    if image.exists():
        if not path.is_mount():
            _mount(image, path)
        elif image != (backing := _backing_file(path)):
            raise StandaloneError(f"{path} is a mount of {backing or 'something else'}, not of {image}")
        if size is not None and size * GIB > image.stat().st_size:
            choose_size(image.parent, size)
            _grow(image, path, size)
        return _describe(image, path)
    if any(path.iterdir()):
        return Storage(path, mounted=False, note="plain directory, as at its first start")
    chosen = choose_size(image.parent, size)
    if os.geteuid() != 0:
        return Storage(path, mounted=False, note="plain directory; run as root for btrfs with instant snapshots")
    _make(image, chosen)
    try:
        _mount(image, path)
    except StandaloneError as error:
        image.unlink()
        return Storage(path, mounted=False, note=f"plain directory, because {error}")
    return _describe(image, path)


def close_storage(storage: Storage, patience: float = 5.0) -> bool:
    """Unmount it, which lets its loop device go too.

    :returns: False when something still used it after `patience` seconds, and so it stays mounted
    """
    deadline = time.monotonic() + patience
    while storage.mounted and storage.path.is_mount():
        with suppress(StandaloneError):
            _run("umount", "mount", str(storage.path))
            break
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _make(image: Path, size: int) -> None:
    partial = image.with_suffix(".new")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.truncate(size * GIB)
    _run("mkfs.btrfs", "btrfs-progs", "--quiet", "--label", "pumice", str(partial))
    partial.rename(image)


def _mount(image: Path, path: Path) -> None:
    _run("mount", "mount", "-t", "btrfs", "-o", "loop,noatime", str(image), str(path))
    path.chmod(0o700)


def _grow(image: Path, path: Path, size: int) -> None:
    os.truncate(image, size * GIB)
    _run("losetup", "mount", "--set-capacity", _device(path))
    _run("btrfs", "btrfs-progs", "--quiet", "filesystem", "resize", "max", str(path))


def _describe(image: Path, path: Path) -> Storage:
    return Storage(path, mounted=True, note=f"btrfs, {image.stat().st_size // GIB} GiB in a sparse file")


def _device(path: Path) -> str:
    return next((part.device for part in psutil.disk_partitions(all=True) if part.mountpoint == str(path)), "")


def _backing_file(path: Path) -> Path | None:
    try:
        return Path(Path(f"/sys/block/{Path(_device(path)).name}/loop/backing_file").read_text().rstrip("\n"))
    except OSError:
        return None


def _run(tool: str, package: str, *arguments: str) -> None:
    try:
        done = subprocess.run(
            [find_tool(tool, package), *arguments], capture_output=True, text=True, timeout=120, check=False
        )
    except subprocess.TimeoutExpired:
        raise StandaloneError(f"{tool} did not end within 120 s") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        # mount's last line is a hint that tells nothing.
        lines = [line for line in said if "dmesg(1)" not in line] or [f"exit code {done.returncode}"]
        raise StandaloneError(f"{tool} failed: {lines[-1]}")


def find_tool(tool: str, package: str) -> str:
    """The path of a program, looked for in the system's folders too, which a user's PATH may lack.

    :raises StandaloneError: it is not there; says which Debian package has it
    """
    path = shutil.which(tool) or shutil.which(tool, path="/usr/local/sbin:/usr/sbin:/sbin")
    if path is None:
        raise StandaloneError(f"{tool} is missing: apt-get install {package}")
    return path
