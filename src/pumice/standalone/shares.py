"""Shared file systems of `pumice up`: the service, and an NFS and an SMB server of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from sqlalchemy.orm import Session

from pumice.kernel import config
from pumice.kernel.db.base import new_id
from pumice.kernel.db.scope import everything
from pumice.kernel.drivers import BackendError
from pumice.kernel.files import write_private
from pumice.share.drivers.mounts import unmount_below
from pumice.share.exports.ganesha_server import GaneshaServer
from pumice.share.exports.mounts import unshare_mounts
from pumice.share.exports.samba_server import SambaServer
from pumice.share.routes import DIALECT
from pumice.share.service import ShareService
from pumice.share.types.model import ShareType

from . import ports
from .configuration import Sections, common_sections
from .database import upgrade
from .directory import DataDirectory
from .errors import StandaloneError
from .keystone import Login
from .storage import Storage

BACKEND = "btrfs"
DEFAULT_TYPE = "default"
SNAPSHOT_SPECS = (
    "snapshot_support",
    "create_share_from_snapshot_support",
    "revert_to_snapshot_support",
    "mount_snapshot_support",
)
CLIENTS = {"shared_file_system_default_microversion": str(DIALECT.maximum)}
"""For clouds.yaml: without it openstacksdk names no version of this API, which then is the oldest."""
USUAL = {"nfs": 2049, "mount": 20048, "smb": 445}
ELSEWHERE = {"nfs": 12049, "mount": 20048, "smb": 10445}
"""Ports on which the servers listen, and those from which on a free one is looked for where those are taken."""


class FileServers:
    """NFS-Ganesha and Samba; their ports are kept from the first start on, because mounts name them."""

    def __init__(self, directory: DataDirectory, host: str) -> None:
        self._directory = directory
        self._host = host
        self._record = directory.servers / "ports.json"
        self.mounts = directory.mounts()
        self._chosen = self._ports()
        nfs, mount, smb = (self._chosen[name] for name in USUAL)
        self.nfs = GaneshaServer(directory.servers / "ganesha", host, nfs, mount, mounts=self.mounts)
        self.smb = SambaServer(directory.servers / "samba", host, smb)

    def _ports(self) -> dict[str, int]:
        try:
            known: dict[str, int] = json.loads(self._record.read_text())
        except (OSError, ValueError):
            known = {name: self._free(name) for name in USUAL}
            write_private(self._record, json.dumps(known))
        return known

    def _free(self, name: str) -> int:
        usual = USUAL[name]
        return usual if ports.is_free(self._host, usual) else ports.next_free(self._host, ELSEWHERE[name])

    def start(self, undo: ExitStack) -> None:
        """:raises StandaloneError: one of them is missing or does not come up"""
        undo.callback(remove_mounts, self.mounts)
        for server, names in ((self.nfs, ("nfs", "mount")), (self.smb, ("smb",))):
            undo.callback(server.stop)
            try:
                server.start()
            except BackendError as error:
                raise StandaloneError(self._taken(names) or str(error)) from error

    def _taken(self, names: Sequence[str]) -> str:
        """Which of these ports somebody else has, while our server does not run; empty when nobody has."""
        for port in (self._chosen[name] for name in names):
            if not ports.is_free(self._host, port):
                what = f"port {port} is taken{ports.holder(port)}"
                return f"{what}: stop that, or remove {self._record} to have other ports chosen"
        return ""

    def check(self) -> bool:
        """Start again what has died; whether anything had."""
        try:
            return any([self.nfs.check(), self.smb.check()])
        except BackendError as error:
            raise StandaloneError(str(error)) from error


def remove_mounts(mounts: Path) -> None:
    """After the servers have stopped, so that the storage can be unmounted."""
    with suppress(BackendError, OSError):
        unmount_below(mounts)
        unshare_mounts(mounts)
        for directory in (*mounts.iterdir(), mounts):
            directory.rmdir()


def why_not(storage: Storage) -> str:
    """What keeps shares from being served here; empty when nothing does."""
    if os.geteuid() != 0:
        return "run as root for shares"
    return "" if storage.mounted else f"the storage is a {storage.note}, and shares need btrfs"


def sections(directory: DataDirectory, servers: FileServers, pumice: Login, *, host: str, port: int) -> Sections:
    common = common_sections(directory, directory.share_state, directory.share_database, pumice)
    general = {
        "enabled_share_backends": BACKEND,
        "default_share_type": DEFAULT_TYPE,
        "osapi_share_listen": host,
        "osapi_share_listen_port": port,
    }
    backend = {
        "share_driver": "btrfs",
        "share_backend_name": BACKEND,
        "directory": directory.storage / "file-systems",
        "mounts_directory": servers.mounts,
        "export_protocols": "NFS,CIFS",
        "nfs_address": host,
        "nfs_port": servers.nfs.port,
        "ganesha_bus": servers.nfs.bus,
        "ganesha_directory": directory.servers / "ganesha" / "exports",
        "smb_address": host,
        "smb_port": servers.smb.port,
        "samba_configuration": servers.smb.configuration,
    }
    return {**common, "DEFAULT": {**common["DEFAULT"], **general}, BACKEND: backend}


def share_service(files: Sequence[Path]) -> ShareService:
    """The Shared File Systems service, on a database brought to this release, with its default type.

    :raises ConfigError: the configuration is wrong
    :raises StandaloneError: the database is a newer release's
    """
    conf = config.load("share", files)
    upgrade(conf, "share")
    service = ShareService(conf)
    service.db.write(_ensure_type)
    return service


def _ensure_type(tx: Session) -> None:
    named = everything().select(ShareType).where(ShareType.name == DEFAULT_TYPE)
    if tx.scalars(named).one_or_none() is None:
        specs = {"driver_handles_share_servers": "False"} | dict.fromkeys(SNAPSHOT_SPECS, "True")
        tx.add(ShareType(id=new_id(), name=DEFAULT_TYPE, extra_specs=specs))
