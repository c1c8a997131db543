"""A service as many processes on one database: two APIs, two schedulers, three workers.

Two of the workers are a cluster, on one backend; the third has a backend of its own.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any, Self

import psutil
import requests

from pumice.kernel.db import migrations
from tests.support.deployment import Deployment, drivers_of
from tests.support.ports import free_port
from tests.support.processes import Process, write_configuration
from tests.support.relay import Relay
from tests.support.served import Served
from tests.support.stepped import CLOCK
from tests.support.underneath import Underneath

CONTROLLERS = ("control-1", "control-2")
WORKERS = {"worker-1": "cluster", "worker-2": "cluster", "worker-3": ""}
"""Host → its cluster."""
LEASE = 3.0
PATIENCE = 240.0
"""Seconds for what takes one, on a machine that has much else to do."""


class Member:
    """One process of a deployment, with its children; it can be started again when it has died.

    :param arguments: of `pumice`, or, where there is a port, of `tests.support.api_process`
    :ivar clock: the file of the seconds that its time of day is off; None of an API, whose is always right
    """

    def __init__(self, name: str, file: Path, *arguments: str, port: int | None = None) -> None:
        self.name = name
        self.clock = None if port else file.with_name(CLOCK)
        self._how = (file, *arguments)
        self._port = port
        self._running: Process | None = None

    @property
    def alive(self) -> bool:
        return self._running is not None and self._running.process.poll() is None

    def start(self) -> None:
        """Unless it runs."""
        if not self.alive:
            file, *arguments = self._how
            module = f"tests.support.{'api_process' if self._port else 'stepped'}"
            self._running = Process(Path(file), *map(str, arguments), port=self._port, module=module)

    def until_ready(self) -> None:
        assert self._running
        self._running.ready(PATIENCE)

    def kill(self) -> None:
        """SIGKILL to all of it, and to what it would have started meanwhile."""
        self.signal(signal.SIGSTOP)
        left = self._processes()
        self.signal(signal.SIGKILL)
        psutil.wait_procs(left, PATIENCE)
        if self._running:
            self._running.process.wait(PATIENCE)

    def signal(self, number: signal.Signals) -> None:
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def _processes(self) -> list[psutil.Process]:
        if not self.alive:
            return []
        assert self._running
        top = psutil.Process(self._running.process.pid)
        return [top, *top.children(recursive=True)]


class ManyProcesses(Deployment):
    """Users reach its APIs through relays, which can cut the connections.

    :param servers: by default locks are files, there is no broker, and databases are where all tests have them
    :param alone: options of the backend that only one worker has; by default both backends are simulated

    :ivar script: the file of faults of simulated backends (`simulated_script`)
    :ivar relays: to each API, by its name
    """

    def __init__(
        self,
        served: Served,
        directory: Path,
        servers: Underneath | None = None,
        alone: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(served, directory)
        self.script = directory / "script.json"
        self._options = servers.options if servers else {}
        self._shared = {
            "database": {"connection": servers.database_url(self.url) if servers else self.url},
            "operations": {"lease": LEASE, "sweep_interval": 1},
            **(servers.sections if servers else {"coordination": {"backend_url": f"file://{directory}/locks"}}),
        }
        self.members: list[Member] = []
        self.relays: dict[str, Relay] = {}
        for name in CONTROLLERS:
            port = free_port()
            file = self._configuration(name, **{f"{served.api}_listen_port": port, f"{served.api}_workers": 1})
            api = Member(f"{served.name} API of {name}", file, served.name, port=port)
            self.relays[api.name] = Relay(port)
            self.members += [api, Member(f"{served.name} scheduler of {name}", file, served.name, "scheduler")]
        self._ports = cycle([relay.own_port for relay in self.relays.values()])
        self._workers: dict[str, Path] = {}
        for name, cluster in WORKERS.items():
            backend, more = ("shared", {"cluster": cluster}) if cluster else ("alone", {})
            section = alone if alone and not cluster else self._simulated(backend)
            file = self._configuration(name, {backend: section}, **more)
            self.members.append(Member(f"{served.name} {name}", file, served.name, served.part))
            self._workers[cluster or name] = file
        with self.database() as db:
            migrations.upgrade(db, served.name)

    def _simulated(self, backend: str) -> dict[str, Any]:
        return {
            f"{self.served.part}_driver": "simulated",
            "simulated_thin": True,
            "simulated_latency": 0.3,
            "simulated_script": self.script,
            "simulated_directory": self.directory / backend,
        }

    def _configuration(
        self, name: str, backends: Mapping[str, Mapping[str, Any]] | None = None, **options: Any
    ) -> Path:
        """:param backends: of a worker"""
        state = self.directory / name
        state.mkdir()
        if backends:
            options[self.served.enabled] = ",".join(backends)
        general = self._sections(host=name, state_path=state, **self._options, **options)
        sections = {**general, **self._shared, **(backends or {})}
        return write_configuration(state / f"{self.served.name}.conf", sections)

    def __enter__(self) -> Self:
        try:
            self.heal()
            self.prepare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for member in self.members:
            member.kill()
        for relay in self.relays.values():
            relay.__exit__()

    def heal(self) -> None:
        """Let everything run."""
        self.script.unlink(missing_ok=True)
        for member in self.members:
            if member.clock:
                member.clock.unlink(missing_ok=True)
            member.signal(signal.SIGCONT)
            member.start()
        for member in self.members:
            member.until_ready()

    def port(self) -> int:
        return next(self._ports)

    def call(self, method: str, path: str, body: Any = None, who: str = "member_a", key: str = "") -> requests.Response:
        """At one API after the other; what only looks asks the other one when the first is dead."""
        try:
            return super().call(method, path, body, who, key)
        except requests.RequestException:
            if method != "GET":
                raise
        return super().call(method, path, body, who, key)

    def check(self) -> None:
        for member in self.members:
            assert member.alive, f"{member.name} has ended"

    def drivers(self) -> dict[str, Any]:
        found = (drivers_of(self.served, file, name, file.parent) for name, file in self._workers.items())
        return {name: driver for one in found for name, driver in one.items()}
