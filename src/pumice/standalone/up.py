"""All of Pumice on one machine: one process with the Block Storage service, Keystone and tgtd as its children."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self
from wsgiref.types import WSGIApplication

from cheroot.wsgi import Server

from . import clouds, configuration, ports
from .directory import DataDirectory
from .errors import StandaloneError
from .keystone import CatalogEntry, Keystone
from .storage import Storage, close_storage, open_storage
from .target import TargetDaemon

if TYPE_CHECKING:
    from .shares import FileServers

LOG = logging.getLogger(__name__)

API_THREADS = 16


class Service(Protocol):
    """What `pumice up` needs of a service."""

    def wsgi(self) -> WSGIApplication: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def restore_exports(self) -> None:
        """Make the exports of attached volumes again that are gone; they are when tgtd was started anew."""

    def unserved(self) -> Mapping[str, int]:
        """Backends of this host that are not enabled, with the number of volumes on them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What can be chosen. Ports are on `host`; `storage_size` is in GiB, None = 80% of what is free."""

    data_directory: Path
    host: str = "127.0.0.1"
    port: int = 8776
    share_port: int = 8786
    keystone_port: int = 5000
    iscsi_port: int | None = None
    storage_size: int | None = None
    cloud: str = "pumice"
    user_clouds: Path | None = clouds.USER_FILE


class _ApiServer(Server):
    def error_log(self, msg: str = "", level: int = logging.INFO, traceback: bool = False) -> None:
        LOG.log(level, "API server: %s", msg, exc_info=traceback)


class Standalone:
    """`with Standalone(settings, make_service) as running:` has everything answering inside the block.

    :param make_service: makes the service from its configuration files, its database included
    :param make_shares: the same of the Shared File Systems service; None: there is none
    """

    def __init__(
        self,
        settings: Settings,
        make_service: Callable[[Sequence[Path]], Service],
        make_shares: Callable[[Sequence[Path]], Service] | None = None,
    ) -> None:
        self.settings = settings
        self.directory = DataDirectory(settings.data_directory)
        self.keystone = Keystone(self.directory.keystone, settings.keystone_port, host=settings.host)
        self.url = f"http://{settings.host}:{settings.port}"
        self.storage: Storage | None = None
        self.clouds_found = False
        self.rival = ""  # the Keystone of another cloud that has our names in the person's clouds.yaml
        self.seconds = 0.0
        self._make_service = make_service
        self._make_shares = make_shares
        self.share_url = f"http://{settings.host}:{settings.share_port}"
        self.shares: Service | None = None
        self.servers: FileServers | None = None
        self.shares_note = ""  # why shares are not served
        self._share_clients: dict[str, str] = {}  # what they need in clouds.yaml
        self._undo = ExitStack()
        self._keystone_not_before = 0.0

    def __enter__(self) -> Self:
        begin = time.monotonic()
        with ExitStack() as undo:
            self._start(undo)
            self._undo = undo.pop_all()
        self.seconds = time.monotonic() - begin
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def _start(self, undo: ExitStack) -> None:
        settings = self.settings
        self.directory.acquire()
        undo.callback(self.directory.release)
        wanted = [ports.Wanted(settings.port, "the Block Storage API", "--port", 9776)]
        if self._make_shares:
            wanted.append(ports.Wanted(settings.share_port, "the Shared File Systems API", "--share-port", 9786))
        ports.require_free(
            settings.host,
            *wanted,
            # A Keystone whose parent was killed ends by itself, within moments.
            ports.Wanted(settings.keystone_port, "Keystone", "--keystone-port", 9500, patience=3.0),
        )
        self.keystone.launch()
        undo.callback(self.keystone.stop)
        self.storage = open_storage(self.directory.image, self.directory.storage, settings.storage_size)
        undo.callback(self._close_storage)
        self.target = TargetDaemon(self.directory.target, settings.host, settings.iscsi_port)
        self.target.start()
        undo.callback(self.target.stop)

        # Nothing of this needs Keystone, which is still starting on another processor.
        if self._make_shares:
            # All tables are declared before a thread of a service asks for rows: half of them cannot be mapped.
            from . import shares  # noqa: F401, PLC0415
        self.service = self._prepare_service()
        undo.callback(self.service.stop)
        self.service.start()
        self.service.restore_exports()
        if self._make_shares:
            self._start_shares(undo, self._make_shares)

        self._prepare_keystone()
        self._write_clouds()
        served = [(self.service, settings.port)]
        if self.shares:
            served.append((self.shares, settings.share_port))
        # All listen before the first answers, so that who has seen one answer finds the other too.
        for server in [self._listen(undo, service, port) for service, port in served]:
            self._serve(undo, server)

    def _prepare_service(self) -> Service:
        sections = configuration.block_sections(
            self.directory,
            self.target,
            self.keystone.login("pumice", "service"),
            host=self.settings.host,
            port=self.settings.port,
        )
        directory = self.directory
        return self._make_service(configuration.write(directory.configuration, directory.own_configuration, sections))

    def _start_shares(self, undo: ExitStack, make: Callable[[Sequence[Path]], Service]) -> None:
        """Serve shares too, where that is possible; where not, volumes are served all the same."""
        from . import shares  # noqa: PLC0415 - see above

        assert self.storage is not None
        directory, settings = self.directory, self.settings
        self.shares_note = shares.why_not(self.storage)
        if self.shares_note:
            return
        with ExitStack() as begun:
            try:
                servers = shares.FileServers(directory, settings.host)
                servers.start(begun)
            except StandaloneError as error:
                self.shares_note = str(error)
                return
            sections = shares.sections(
                directory,
                servers,
                self.keystone.login("pumice", "service"),
                host=settings.host,
                port=settings.share_port,
            )
            files = configuration.write(directory.share_configuration, directory.own_share_configuration, sections)
            service = make(files)
            begun.callback(service.stop)
            service.start()
            self.servers, self.shares, self._share_clients = servers, service, shares.CLIENTS
            undo.push(begun.pop_all())

    def _prepare_keystone(self) -> None:
        self.keystone.wait()
        self.keystone.account("pumice", "service", ["service"])
        self.keystone.account("demo", "demo", ["member"])
        volumes = f"{self.url}/v3/$(project_id)s"
        entries = [
            CatalogEntry("identity", "keystone", self.keystone.auth_url),
            CatalogEntry("block-storage", "pumice", volumes),
            CatalogEntry("volumev3", "pumice", volumes),
        ]
        if self.shares:
            kinds = ("shared-file-system", "sharev2")
            entries += [CatalogEntry(kind, "pumice-shares", f"{self.share_url}/v2/$(project_id)s") for kind in kinds]
        self.keystone.catalog(entries)

    def _listen(self, undo: ExitStack, service: Service, port: int) -> Server:
        address = (self.settings.host, port)
        server = _ApiServer(address, service.wsgi(), numthreads=API_THREADS, request_queue_size=128)
        server.prepare()
        undo.callback(server.stop)
        return server

    @staticmethod
    def _serve(undo: ExitStack, server: Server) -> None:
        thread = threading.Thread(target=server.serve, name=f"api-{server.bind_addr[1]}", daemon=True)
        thread.start()
        undo.callback(thread.join, 10)
        undo.callback(server.stop)

    def _write_clouds(self) -> None:
        name = self.settings.cloud
        logins = {name: self.keystone.admin, f"{name}-demo": self.keystone.login("demo", "demo")}
        entries = {one: clouds.entry(login) | self._share_clients for one, login in logins.items()}
        clouds.write(self.directory.clouds, entries)
        path = self.settings.user_clouds
        if path is None:
            return
        self.rival = clouds.rival(path, entries)
        self.clouds_found = not self.rival and clouds.merge(path, entries) and not clouds.points_elsewhere()

    def _close_storage(self) -> None:
        if self.storage is not None and not close_storage(self.storage):
            LOG.warning("%s is still in use and stays mounted; the next start takes it over", self.storage.path)

    def mind(self) -> None:
        """Start again what has died of the children. To be called about twice a second."""
        try:
            if self.target.check():
                LOG.warning("tgtd had ended and was started again")
                self.service.restore_exports()
            if self.servers and self.shares and self.servers.check():
                LOG.warning("a file server had ended and was started again")
                self.shares.restore_exports()
            if not self.keystone.alive and time.monotonic() > self._keystone_not_before:
                self._keystone_not_before = time.monotonic() + 10
                LOG.warning("Keystone has ended and is started again")
                self.keystone.stop()
                self.keystone.start()
        except StandaloneError as error:
            LOG.error("%s", error)
        except Exception:
            # Tried again at the next look: what still runs must not end with it.
            LOG.exception("what had ended could not be started again")


def block_service(files: Sequence[Path]) -> Service:
    """The Block Storage service, on a database brought to this release; logs go where its configuration says.

    :raises ConfigError: the configuration is wrong
    :raises StandaloneError: the database is a newer release's
    """
    # A second of imports, spent while Keystone starts.
    from pumice.block.service import BlockService  # noqa: PLC0415
    from pumice.kernel import config  # noqa: PLC0415
    from pumice.kernel import logging as kernel_logging  # noqa: PLC0415

    from .database import upgrade  # noqa: PLC0415

    conf = config.load("block", files)
    kernel_logging.setup(conf)
    upgrade(conf, "block")
    return BlockService(conf)


def share_service(files: Sequence[Path]) -> Service:
    """The Shared File Systems service, likewise."""
    from .shares import share_service as make  # noqa: PLC0415

    return make(files)
