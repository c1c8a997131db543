"""Who owns a running operation, and how others know that the owner is dead.

An owner is a worker's life: `<host>:<directory>:<random>`. It holds a file lock of that name while it lives, so a
successor that has the same directory of lock files takes over at once; elsewhere the beat must have been *watched*
standing still for the lease's length on the watcher's own monotonic clock, whatever the clocks say. The directory has
an id of its own in the name, since a host's name proves nothing: two machines may be given one, and two services of
one machine may keep their state apart.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import socket
import time
from collections.abc import Callable
from pathlib import Path

from pumice.kernel.db.base import new_id
from pumice.kernel.files import exclusive, give_to_owner_of_directory, write_private
from pumice.kernel.operations.model import Operation


class Life:
    """One worker's life, from its making to `end` or to the death of the process.

    :param directory: of the lock files, the same for all workers of a host
    """

    def __init__(self, directory: Path, host: str = "") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        # Workers of backends run as root, schedulers do not, and whoever starts first makes the directory.
        give_to_owner_of_directory(directory)
        self.place = f"{host or socket.gethostname()}:{_id_of(directory)}"
        self.owner = f"{self.place}:{new_id()}"
        self._path = directory / self.owner.replace("/", "_")
        self._file: int | None = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        give_to_owner_of_directory(self._path)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def end(self) -> None:
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = None


class Watch:
    """Remembers the beats it has seen and tells which owners are dead.

    :param lease: seconds for which a beat must stand still
    """

    def __init__(self, life: Life, directory: Path, lease: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._life = life
        self._directory = directory
        self._lease = lease
        self._clock = clock
        self._seen: dict[str, tuple[str | None, int, int, float]] = {}

    def dead(self, running: list[Operation]) -> list[Operation]:
        """Those of the `running` operations whose owner is dead; all that run are to be shown at each call."""
        now = self._clock()
        seen: dict[str, tuple[str | None, int, int, float]] = {}
        result = []
        for operation in running:
            key = (operation.owner, operation.attempt, operation.beat)
            before = self._seen.get(operation.id)
            since = before[3] if before and before[:3] == key else now
            seen[operation.id] = (*key, since)
            if now - since >= self._lease or self._proven_dead(operation.owner):
                result.append(operation)
        self._seen = seen
        return result

    def _proven_dead(self, owner: str | None) -> bool:
        """Whether `owner` had its lock file where ours is, and its lock is free."""
        if owner is None or owner == self._life.owner or owner.rpartition(":")[0] != self._life.place:
            return False
        path = self._directory / owner.replace("/", "_")
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            # Removed only by its owner when it ended, or here below: either way it lives no more.
            return True
        with contextlib.closing(os.fdopen(file)):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            path.unlink(missing_ok=True)
            return True


def _id_of(directory: Path) -> str:
    """Made by the first worker that has its lock file there."""
    path = directory / "id"
    with exclusive(directory / "id.lock"):
        give_to_owner_of_directory(directory / "id.lock")
        if not path.exists():
            write_private(path, secrets.token_hex(8))
        give_to_owner_of_directory(path)
        return path.read_text()
