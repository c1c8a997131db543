"""The data directory of one `pumice up`: where things lie, and that only one process uses it."""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path
from typing import IO

from .errors import StandaloneError


def default_data_directory() -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/pumice")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "pumice"


class DataDirectory:
    """Everything that `pumice up` keeps. Mode 0700; `acquire` makes what is missing."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()
        self.configuration = self.path / "block.conf"  # written anew at each start
        self.own_configuration = self.path / "local.conf"  # the operator's; read after block.conf
        self.clouds = self.path / "clouds.yaml"
        self.database = self.path / "block.db"
        self.state = self.path / "state"  # locks and the like
        self.keystone = self.path / "keystone"
        self.image = self.path / "storage.btrfs"  # the sparse file that `storage` is mounted from
        self.storage = self.path / "storage"
        self.target = self.path / "tgtd"
        self.share_configuration = self.path / "share.conf"
        self.own_share_configuration = self.path / "local-share.conf"
        self.share_database = self.path / "share.db"
        self.share_state = self.path / "share-state"
        self.servers = self.path / "servers"  # NFS-Ganesha and Samba
        self.log = self.path / "pumice.log"
        self._lock: IO[str] | None = None

    def acquire(self) -> None:
        """Make the directory and take its lock, which ends with this process.

        :raises StandaloneError: it cannot be written, or another process has it
        """
        try:
            for path in (
                self.path,
                self.state,
                self.share_state,
                self.keystone,
                self.target,
                self.servers,
                self.storage,
            ):
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = (self.path / "lock").open("a+")
        except OSError as error:
            raise StandaloneError(f"no rights to write the data directory {self.path}: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip()
            lock.close()
            raise StandaloneError(f"`pumice up` already runs on {self.path} (process {holder})") from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        self._lock = lock

    def mounts(self) -> Path:
        """Where shares are mounted for the file servers: outside, as those who act for users must get there.

        :raises StandaloneError: it is somebody else's
        """
        status = self.path.stat()
        place = Path(tempfile.gettempdir()) / f"pumice-shares-{status.st_dev}-{status.st_ino}"
        place.mkdir(exist_ok=True)
        if place.is_symlink() or place.stat().st_uid != os.geteuid():
            raise StandaloneError(f"{place} belongs to somebody else")
        place.chmod(0o711)
        return place

    def release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None
