"""NFS-Ganesha's management of exports over D-Bus."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from jeepney import DBusAddress, HeaderFields, MessageType, new_method_call
from jeepney.io.blocking import open_dbus_connection

from pumice.kernel.drivers import BackendError

from .base import plain
from .ganesha_files import Client

_MANAGER = DBusAddress(
    "/org/ganesha/nfsd/ExportMgr", bus_name="org.ganesha.nfsd", interface="org.ganesha.nfsd.exportmgr"
)
_SECONDS = 30.0
_READ = 0x20
_WRITE = 0x40
_NOBODY = frozenset(
    f"org.freedesktop.DBus.Error.{name}"
    # The last: it ended before it had answered.
    for name in ("ServiceUnknown", "NameHasNoOwner", "NoReply", "Disconnected")
)


class GaneshaAbsent(BackendError):
    """No NFS-Ganesha is on the bus: none runs."""


@dataclass(frozen=True, slots=True)
class Shown:
    """An export as the server has it."""

    path: str
    pseudo: str
    clients: tuple[Client, ...]


class GaneshaBus:
    """:param address: of the bus: "unix:path=…", or "SYSTEM"

    Each call has a connection of its own, so that it does not matter which of the two servers was restarted.
    """

    def __init__(self, address: str) -> None:
        self._address = address

    def numbers(self) -> frozenset[int]:
        _, exports = self._call("ShowExports")
        return frozenset(export[0] for export in exports)

    def show(self, number: int) -> Shown | None:
        try:
            _, path, pseudo, _, clients = self._call("DisplayExport", "q", (number,))
        except _Refused as error:
            if "Export id not found" in str(error):
                return None
            raise
        return Shown(path, pseudo, tuple(_client(entry) for entry in clients))

    def add(self, number: int, file: Path) -> None:
        self._call("AddExport", "ss", (str(file), f"EXPORT(Export_Id={number})"))

    def update(self, number: int, file: Path) -> None:
        """Take over the pseudo path and the clients from the file, all at once."""
        self._call("UpdateExport", "ss", (str(file), f"EXPORT(Export_Id={number})"))

    def remove(self, number: int) -> None:
        try:
            self._call("RemoveExport", "q", (number,))
        except _Refused as error:
            if "Export id not found" not in str(error):
                raise

    def _call(self, method: str, signature: str | None = None, body: tuple[Any, ...] = ()) -> tuple[Any, ...]:
        try:
            with closing(open_dbus_connection(self._address)) as link:
                reply = link.send_and_get_reply(new_method_call(_MANAGER, method, signature, body), timeout=_SECONDS)
        except OSError as error:
            raise BackendError(f"NFS-Ganesha cannot be reached on {self._address}: {error}") from None
        if reply.header.message_type is MessageType.error:
            if reply.header.fields.get(HeaderFields.error_name) in _NOBODY:
                raise GaneshaAbsent(f"NFS-Ganesha does not run, or is not on {self._address}")
            text = " ".join(str(part) for part in reply.body).strip()
            raise _Refused(f"NFS-Ganesha refused {method}: {text}")
        return tuple(reply.body)


class _Refused(BackendError):
    pass


def _client(entry: Sequence[Any]) -> Client:
    text, options = entry[0], entry[-2]
    level = "rw" if options & _WRITE else "ro" if options & _READ else "none"
    with suppress(ValueError):  # it need not be a network: a file of somebody else's may name hosts
        text = plain(ip_network(text))
    return Client(text, level)
