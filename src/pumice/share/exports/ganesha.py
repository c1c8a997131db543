"""Exports over NFS by NFS-Ganesha, versions 3 and 4.

Ip rules become entries of an export's client list, the narrowest network first, as the server takes the first that
fits. It asks the list with every request, so a client that no rule allows any more is cut off though it has the
share mounted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from pumice.kernel.drivers import BackendError, ObjectMissing
from pumice.share.drivers.base import Applied, Rule
from pumice.share.drivers.base import Path as Location

from .base import RuleRefused, checked_name, checked_path, port_note
from .ganesha_bus import GaneshaAbsent, GaneshaBus, Shown
from .ganesha_files import ExportFile, ExportFiles

NFS_PORT = 2049


class GaneshaExporter:
    """:param directory: where the files of exports lie; the server's configuration includes its `index.conf`
    :param bus: address of the D-Bus that the server is on
    :param host: the address that clients are told; `port` the one that the server listens on
    """

    protocol: ClassVar[str] = "NFS"

    def __init__(self, directory: Path, bus: str, host: str, *, port: int = NFS_PORT) -> None:
        self._files = ExportFiles(directory)
        self._bus = GaneshaBus(bus)
        self._host = f"[{host}]" if ":" in host else host
        self._port = port

    def start(self) -> None:
        self._files.prepare()
        self._bus.numbers()
        with self._files.exclusive():
            for file in self._files.all():
                if file.present:
                    self._bring(file)

    def stop(self) -> None:
        pass

    def export(self, id: str, path: Path, name: str, *, read_only: bool = False) -> list[Location]:
        checked_name(id)
        checked_name(name)
        checked_path(path)
        with self._files.exclusive():
            file = known = self._files.get(id)
            if file is None or (file.path, file.name, file.read_only) != (str(path), name, read_only):
                file = self._files.new(id, path, name, read_only=read_only)
                if known:
                    file = replace(file, number=known.number, rules=known.rules)
                self._files.put(file)
            self._bring(file)
        return [Location(f"{self._host}:{file.pseudo}", metadata=port_note(self._port, NFS_PORT))]

    def unexport(self, id: str) -> None:
        with self._files.exclusive():
            if file := self._files.get(checked_name(id)):
                with suppress(GaneshaAbsent):  # which then exports nothing, and comes back without it
                    self._bus.remove(file.number)
                self._files.remove(file)

    def apply(self, id: str, rules: Sequence[Rule]) -> Mapping[str, Applied]:
        with self._files.exclusive():
            known = self._files.get(checked_name(id))
            if known is None:
                raise ObjectMissing(f"{id} is not exported over NFS")
            fared = {rule.id: _possible(known, rule) for rule in rules}
            file = replace(known, rules=tuple(rule for rule in rules if fared[rule.id].error is None))
            if file != known:
                self._files.put(file)
            shown = self._bring(file)
        for rule in file.rules:
            if not set(file.clients_of(rule)) <= set(shown.clients):
                fared[rule.id] = Applied(f"NFS-Ganesha did not take access to {rule.to}")
        return fared

    def ids(self) -> frozenset[str]:
        with self._files.exclusive():
            numbers = self._bus.numbers()
            return frozenset(file.id for file in self._files.all() if file.number in numbers)

    def exports(self) -> Mapping[str, frozenset[str]]:
        with self._files.exclusive():
            shown = {file: self._bus.show(file.number) for file in self._files.all()}
        return {file.id: file.texts(export.clients) for file, export in shown.items() if export}

    def _bring(self, file: ExportFile) -> Shown:
        """Let the server have the export as its file says; what it then has."""
        shown = self._bus.show(file.number)
        if shown and shown.path != file.path:
            self._bus.remove(file.number)
            shown = None
        if shown and (shown.pseudo, shown.clients) == (file.pseudo, file.clients):
            return shown
        if shown:
            self._bus.update(file.number, self._files.path(file))
        else:
            self._bus.add(file.number, self._files.path(file))
        shown = self._bus.show(file.number)
        if shown is None:
            raise BackendError(f"NFS-Ganesha lost the export of {file.path} just after it was made")
        return shown


def _possible(file: ExportFile, rule: Rule) -> Applied:
    try:
        file.clients_of(rule)
    except RuleRefused as refusal:
        return Applied(str(refusal))
    return Applied()
