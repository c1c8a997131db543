"""Subvolumes mounted by themselves, as NFS-Ganesha wants what it exports."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

from pumice.kernel.commands import run

_OTHER = ".2"


class Mounts:
    """Bind mounts at <directory>/<id> or <directory>/<id>.2.

    When something else is to be exported under an id it is mounted at the other of the two, so that a file server
    can go over to it while it still has the old one.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def start(self, source_of: Callable[[str], Path | None]) -> None:
        """Mount again what was mounted before a restart; `source_of` an id, None when there is none any more."""
        # File servers that act as their users must get through.
        self._directory.mkdir(mode=0o711, parents=True, exist_ok=True)
        self._directory.chmod(0o711)
        for path in list(self._directory.iterdir()):
            source = source_of(_id(path))
            if source is None:
                _remove(path)
            elif not path.is_mount():
                _bind(source, path)

    def ids(self) -> frozenset[str]:
        return frozenset(_id(path) for path in self._directory.iterdir())

    def barrier(self) -> Path | None:
        """A directory that keeps others than root from the mounts."""
        for directory in (self._directory, *self._directory.parents):
            if not directory.stat().st_mode & stat.S_IXOTH:
                return directory
        return None

    def mount(self, id: str, source: Path) -> Path:
        """Where it is mounted; what else is mounted under the id stays until `settle`."""
        places = self._places(id)
        for path in places:
            if _is_at(source, path):
                return path
        path = next((path for path in places if not path.is_mount()), places[0])
        _bind(source, path)
        return path

    def settle(self, id: str, path: Path) -> None:
        """Let nothing be mounted under the id but what is at `path`."""
        for other in self._places(id):
            if other != path:
                _remove(other)

    def unmount(self, id: str) -> None:
        for path in self._places(id):
            _remove(path)

    def _places(self, id: str) -> tuple[Path, Path]:
        return self._directory / id, self._directory / f"{id}{_OTHER}"


def unmount_below(directory: Path) -> None:
    """Unmount what all backends have mounted in their directories there.

    For who takes the storage away; file servers that use the mounts are to be stopped before.
    """
    for path in directory.glob("*/*"):
        _remove(path)


def _id(path: Path) -> str:
    return path.name.removesuffix(_OTHER)


def _is_at(source: Path, path: Path) -> bool:
    try:
        return path.stat().st_dev == source.stat().st_dev
    except FileNotFoundError:
        return False


def _bind(source: Path, path: Path) -> None:
    _detach(path)
    path.mkdir(mode=0o700, exist_ok=True)
    run("mount", "--bind", str(source), str(path))


def _remove(path: Path) -> None:
    if path.exists():
        _detach(path)
        path.rmdir()


def _detach(path: Path) -> None:
    while path.is_mount():
        # Lazily: a file server may hold a file open for a moment longer, which keeps nobody from anything.
        run("umount", "--lazy", str(path))
