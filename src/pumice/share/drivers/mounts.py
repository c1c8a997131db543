"""Subvolumes mounted by themselves, as NFS-Ganesha wants what it exports."""

from __future__ import annotations

import stat
from pathlib import Path

from pumice.kernel.commands import run


class Mounts:
    """Bind mounts at <directory>/<id>."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def start(self) -> None:
        """Make the directory. File servers that act as their users must get through it."""
        self._directory.mkdir(mode=0o711, parents=True, exist_ok=True)
        self._directory.chmod(0o711)

    def barrier(self) -> Path | None:
        """A directory that keeps others than root from the mounts."""
        for directory in (self._directory, *self._directory.parents):
            if not directory.stat().st_mode & stat.S_IXOTH:
                return directory
        return None

    def path(self, id: str) -> Path:
        return self._directory / id

    def ids(self) -> frozenset[str]:
        return frozenset(path.name for path in self._directory.iterdir())

    def is_current(self, id: str, source: Path) -> bool:
        """Whether it is `source` that is mounted, and not what was there before it."""
        try:
            return self.path(id).stat().st_dev == source.stat().st_dev
        except FileNotFoundError:
            return False

    def mount(self, id: str, source: Path) -> Path:
        """Where it is mounted; what else was mounted there is not any more."""
        path = self.path(id)
        if not self.is_current(id, source):
            self._detach(path)
            path.mkdir(mode=0o700, exist_ok=True)
            run("mount", "--bind", str(source), str(path))
        return path

    def unmount(self, id: str) -> None:
        path = self.path(id)
        if path.exists():
            self._detach(path)
            path.rmdir()

    def unmount_all(self) -> None:
        for id in self.ids() if self._directory.exists() else ():
            self.unmount(id)

    def _detach(self, path: Path) -> None:
        while path.is_mount():
            # Lazily: a file server may hold a file open for a moment longer, which keeps nobody from anything.
            run("umount", "--lazy", str(path))


def unmount_below(directory: Path) -> None:
    """Unmount what all backends have mounted in their directories there.

    For who takes the storage away; file servers that use the mounts are to be stopped before.
    """
    for backend in directory.iterdir() if directory.exists() else ():
        Mounts(backend).unmount_all()
