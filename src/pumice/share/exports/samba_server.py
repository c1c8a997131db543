"""A Samba of Pumice's own: one smbd, without NetBIOS and printers."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from pathlib import Path

from pumice.kernel.commands import run
from pumice.kernel.drivers import BackendError
from pumice.kernel.files import write_private

from .daemon import Daemon, program, socket_directory
from .samba import SambaExporter

_DIRECTORIES = ("state", "cache", "lock", "private", "pid")
_CONFIGURATION = """\
[global]
    server role = standalone server
    workgroup = PUMICE
    disable netbios = yes
    smb ports = {port}
    interfaces = {interface}
    bind interfaces only = yes
    server min protocol = SMB2
    map to guest = Bad User
    passdb backend = tdbsam
    load printers = no
    printcap name = /dev/null
    disable spoolss = yes
    logging = file
    log file = {directory}/smbd.log
    max log size = 10000
    state directory = {directory}/state
    cache directory = {directory}/cache
    lock directory = {directory}/lock
    private dir = {directory}/private
    pid directory = {directory}/pid
    ncalrpc dir = {sockets}/ncalrpc
    registry shares = yes
    include = registry
"""


class SambaServer:
    """SMB on `host` and `port`. Its users are made with `smbpasswd -c CONFIGURATION -a NAME`.

    :param prefix: of every command, such as one that enters a network namespace
    """

    def __init__(self, directory: Path, host: str, port: int, *, prefix: Sequence[str] = ()) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory = directory.absolute()
        self.host = host
        self.port = port
        self.configuration = self._directory / "smb.conf"
        self._prefix = list(prefix)
        self._server = Daemon("smbd", self._directory, ready=self._answers)

    def exporter(self) -> SambaExporter:
        return SambaExporter(self.configuration, self.host, port=self.port, lock=self._directory / "exports.lock")

    @property
    def pid(self) -> int:
        return self._server.pid

    @property
    def alive(self) -> bool:
        return self._server.alive

    def start(self) -> None:
        """Start it if it does not run. Exports are in its registry.

        :raises BackendError: it is missing or does not come up
        """
        for name in _DIRECTORIES:
            (self._directory / name).mkdir(mode=0o700, exist_ok=True)
        address = ipaddress.ip_address(self.host)
        configuration = _CONFIGURATION.format(
            port=self.port,
            interface=f"{address}/8" if address.is_loopback and address.version == 4 else address,
            directory=self._directory,
            sockets=socket_directory(self._directory),
        )
        write_private(self.configuration, configuration)
        smbd = program("smbd", "samba")
        self._server.start(
            [*self._prefix, smbd, "--foreground", "--no-process-group", f"--configfile={self.configuration}"],
            configuration=configuration,
        )

    def stop(self) -> None:
        self._server.stop()

    def restart(self) -> None:
        self.stop()
        self.start()

    def check(self) -> bool:
        """Start it again if it has died.

        :returns: True when it had
        """
        if self.alive:
            return False
        self.restart()
        return True

    def _answers(self) -> bool:
        try:
            return "PONG" in run("smbcontrol", f"--configfile={self.configuration}", "smbd", "ping").output
        except BackendError:
            return False
