"""Real file systems in sparse files, mounted through loop devices."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

_MKFS = {
    "btrfs": ["mkfs.btrfs", "-q", "-f"],
    "mixed": ["mkfs.btrfs", "-q", "-f", "--mixed"],  # btrfs whose data and metadata share what room there is
    "xfs": ["mkfs.xfs", "-q", "-f", "-m", "reflink=1"],
    "ext4": ["mkfs.ext4", "-q", "-F"],
}
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
