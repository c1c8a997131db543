"""An NFS-Ganesha of Pumice's own, with a D-Bus and a port mapper that belong to it alone."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Sequence
from pathlib import Path

from pumice.kernel.drivers import BackendError
from pumice.kernel.files import write_private

from .daemon import Daemon, program, socket_directory
from .ganesha import GaneshaExporter
from .ganesha_bus import GaneshaBus
from .ganesha_files import ExportFiles
from .mounts import share_mounts, unshare_mounts

_BUS = """\
<busconfig>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="root"/>
    <allow own="*"/>
    <allow send_type="method_call"/>
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
    <allow send_requested_reply="true"/>
  </policy>
</busconfig>
"""
_SERVER = """\
NFS_Core_Param {{
    Protocols = 3, 4;
    NFS_Port = {port};
    MNT_Port = {mount_port};
    Bind_addr = {host};
    mount_path_pseudo = true;
    Enable_NLM = false;
    Enable_RQUOTA = false;
    Enable_UDP = false;
}}
NFS_KRB5 {{ Active_krb5 = false; }}
NFSv4 {{
    Minor_Versions = 0, 1, 2;
    Graceless = true;
    RecoveryBackend = fs;
    RecoveryRoot = "{directory}/recovery";
    Only_Numeric_Owners = true;
    Delegations = false;
}}
EXPORT_DEFAULTS {{ Access_Type = None; SecType = sys; Protocols = 3, 4; Transports = TCP; }}
%include "{index}"
"""
# A port mapper that knows only local transports listens on no port, and so never meets another one.
_LOCAL_TRANSPORTS = "local tpi_cots_ord - loopback - - -\n"
_PORT_MAPPER = """\
set -e
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/rpcbind /run/ganesha
[ -z "$1" ] || mount --bind "$1" /etc/netconfig
exec "$0" -f -w
"""
_IN_ITS_PLACE = 'umount /etc/netconfig 2>/dev/null; exec "$0" "$@"'


class GaneshaServer:
    """NFS on `host` and `port`, the mount protocol of NFSv3 on `mount_port`.

    NFSv3 cannot be served without a port mapper, whose socket has one fixed place. So the servers have a mount
    namespace with a /run of their own; file systems that are mounted below `mounts` appear in it too.

    :param mounts: where shares are mounted, not below /run; it is made a shared mount, before shares are mounted there
    :param portmapper: let clients of NFSv3 ask for the ports on port 111, which must be free; else they must know them
    :param prefix: of every command, such as one that enters a network namespace
    """

    def __init__(
        self,
        directory: Path,
        host: str,
        port: int,
        mount_port: int,
        *,
        mounts: Path,
        portmapper: bool = False,
        prefix: Sequence[str] = (),
    ) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory = directory.absolute()
        self.host = host
        self.port = port
        self.mount_port = mount_port
        self.mounts = mounts
        self._portmapper = portmapper
        self._prefix = list(prefix)
        self._socket = socket_directory(self._directory) / "socket"
        self.bus = f"unix:path={self._socket}"
        self._files = ExportFiles(self._directory / "exports")
        self._bus_daemon = Daemon("dbus", self._directory, ready=self._bus_answers)
        self._mapper = Daemon("rpcbind", self._directory, ready=self._mapper_answers)
        self._server = Daemon("ganesha", self._directory, ready=self._server_answers)

    def exporter(self) -> GaneshaExporter:
        return GaneshaExporter(self._directory / "exports", self.bus, self.host, port=self.port)

    @property
    def pid(self) -> int:
        return self._server.pid

    @property
    def alive(self) -> bool:
        return self._bus_daemon.alive and self._mapper.alive and self._server.alive

    def start(self) -> None:
        """Start what does not run. Exports come back from their files, as far as their file systems are mounted.

        :raises BackendError: a program is missing or does not come up
        """
        share_mounts(self.mounts)
        configuration = self._write_configuration()
        bus = program("dbus-daemon", "dbus-daemon")
        self._bus_daemon.start([bus, f"--config-file={self._directory}/bus.conf", "--nofork", "--nopidfile"])
        self._mapper.start(
            [
                *(*self._prefix, "unshare", "--mount", "--propagation", "slave", "sh", "-c", _PORT_MAPPER),
                *(program("rpcbind", "rpcbind"), "" if self._portmapper else f"{self._directory}/netconfig"),
            ]
        )
        self._server.start(
            [
                *(*self._prefix, "nsenter", f"--mount=/proc/{self._mapper.pid}/ns/mnt"),
                *("unshare", "--mount", "--propagation", "slave", "sh", "-c", _IN_ITS_PLACE),
                *(program("ganesha.nfsd", "nfs-ganesha nfs-ganesha-vfs"), "-F", "-N", "NIV_EVENT"),
                *("-f", f"{self._directory}/ganesha.conf", "-L", f"{self._directory}/ganesha.log"),
                *("-p", f"{self._directory}/ganesha.pid"),
            ],
            {"DBUS_SYSTEM_BUS_ADDRESS": self.bus},
            configuration=configuration,
        )

    def stop(self) -> None:
        self._end()
        unshare_mounts(self.mounts)
        if self._socket.parent != self._directory:
            shutil.rmtree(self._socket.parent, ignore_errors=True)

    def restart(self) -> None:
        self._end()
        self.start()

    def check(self) -> bool:
        """Start again what has died. The bus and the port mapper know things of the server, so it goes with them.

        :returns: True when something had
        """
        if self.alive:
            return False
        self.restart()
        return True

    def _end(self) -> None:
        for daemon in (self._server, self._mapper, self._bus_daemon):
            daemon.stop()

    def _write_configuration(self) -> str:
        """Write all that the servers read; what NFS-Ganesha does."""
        (self._directory / "recovery").mkdir(exist_ok=True)
        self._files.prepare()
        self._socket.parent.mkdir(mode=0o700, exist_ok=True)
        write_private(self._directory / "netconfig", _LOCAL_TRANSPORTS)
        (self._directory / "netconfig").chmod(0o644)
        write_private(self._directory / "bus.conf", _BUS.format(socket=self._socket))
        configuration = _SERVER.format(
            port=self.port,
            mount_port=self.mount_port,
            host=self.host,
            directory=self._directory,
            index=self._files.index,
        )
        write_private(self._directory / "ganesha.conf", configuration)
        return configuration

    def _bus_answers(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            return link.connect_ex(str(self._socket)) == 0

    def _mapper_answers(self) -> bool:
        process = Path(f"/proc/{self._mapper.pid}")
        running = process.exists() and (process / "comm").read_text() == "rpcbind\n"  # no longer the shell
        return running and (process / "root/run/rpcbind.sock").is_socket()

    def _server_answers(self) -> bool:
        try:
            GaneshaBus(self.bus).numbers()
        except BackendError:
            return False
        return True
