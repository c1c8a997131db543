"""Mounts that appear in other mount namespaces."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pumice.kernel.commands import run
from pumice.kernel.drivers import BackendError


@dataclass(frozen=True, slots=True)
class _Mount:
    point: Path
    shared: bool


def share_mounts(directory: Path) -> None:
    """Let what is mounted below a directory appear in mount namespaces that are made from ours.

    Where its file system does not do so already, as systemd has it do, the directory is mounted on itself.
    """
    directory.mkdir(mode=0o711, parents=True, exist_ok=True)
    mount = _mount_of(directory)
    if not mount.shared:
        if mount.point != directory.resolve():
            run("mount", "--bind", str(directory), str(directory))
        run("mount", "--make-shared", str(directory))


def unshare_mounts(directory: Path) -> None:
    """Undo that, unless something is still mounted below."""
    if _mount_of(directory).point == directory.resolve() and not directory.is_mount():  # so it is on itself
        with suppress(BackendError):
            run("umount", str(directory))


def _mount_of(directory: Path) -> _Mount:
    """The mount that a directory lies on."""
    path, best = directory.resolve(), _Mount(Path("/"), shared=False)
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        words = line.split()
        point = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), words[4]))  # blanks are \040
        if path.is_relative_to(point) and len(point.parts) >= len(best.point.parts):
            best = _Mount(point, any(word.startswith("shared:") for word in words[6 : words.index("-")]))
    return best
