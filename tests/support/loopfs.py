"""Real file systems in sparse files, mounted through loop devices."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

_MKFS = {
    "btrfs": ["mkfs.btrfs", "-q", "-f"],
    "mixed": ["mkfs.btrfs", "-q", "-f", "--mixed"],  # btrfs whose data and metadata share what room there is
    "xfs": ["mkfs.xfs", "-q", "-f", "-m", "reflink=1"],
    "ext4": ["mkfs.ext4", "-q", "-F"],
}
_PIECES = (1 << 30, 1 << 24, 1 << 20, 1 << 16, 1 << 12)
REFLINKS = {"btrfs": True, "xfs": True, "ext4": False}


@contextlib.contextmanager
def loop_filesystem(kind: str, directory: Path, mebibytes: int = 2048) -> Iterator[Path]:
    """Mounts a new file system of `kind` below `directory` and yields its root. XFS takes 300 MiB at least.

    The loop device is let go by the kernel with the unmount.
    """
    image, root = directory / f"{kind}.img", directory / kind
    image.touch()
    os.truncate(image, mebibytes * 1024**2)
    subprocess.run([*_MKFS[kind], str(image)], check=True, capture_output=True, timeout=60)
    root.mkdir()
    subprocess.run(["mount", "-o", "loop", str(image), str(root)], check=True, timeout=60)
    try:
        yield root
    finally:
        busy = subprocess.run(["umount", str(root)], check=False, capture_output=True, text=True, timeout=60).stderr
        if busy:  # a failed test holds files open: unmounted as soon as they are closed
            subprocess.run(["umount", "--lazy", str(root)], check=True, timeout=60)
        image.unlink()
        assert not busy, busy


class Filler:
    """Takes all the room that a file system has left, and gives it back."""

    def __init__(self, root: Path) -> None:
        self._directory = root / "filler"

    def fill(self) -> None:
        """Nothing is written, so that this is quick and the file below stays sparse."""
        self._directory.mkdir(exist_ok=True)
        for size in _PIECES:
            with contextlib.suppress(OSError):
                while True:
                    with (self._directory / uuid.uuid4().hex).open("wb") as file:
                        os.posix_fallocate(file.fileno(), 0, size)

    def free(self) -> None:
        if self._directory.exists():
            shutil.rmtree(self._directory)
