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
from sqlalchemy import make_url

from pumice.kernel.db import migrations
from tests.support.deployment import Deployment, drivers_of
from tests.support.processes import Process, write_configuration
from tests.support.relay import Relay
from tests.support.served import Served
from tests.support.stepped import CLOCK
from tests.support.tgtd import free_port

CONTROLLERS = ("control-1", "control-2")
WORKERS = {"worker-1": "cluster", "worker-2": "cluster", "worker-3": ""}
"""Host → its cluster."""
LEASE = 3.0
PATIENCE = 60.0


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
        self._running.ready()

    def kill(self) -> None:
        """SIGKILL to all of it."""
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
    """:param sections: of all configurations, such as `coordination`; by default locks are files
    :param options: of [DEFAULT] of all configurations, such as `transport_url`

    :ivar script: the file of faults of both backends (`simulated_script`)
    :ivar relay: what stands between the processes and the database's server, where there is one
    """

    def __init__(
        self, served: Served, directory: Path, sections: Mapping[str, Mapping[str, Any]] | None = None, **options: Any
    ) -> None:
        super().__init__(served, directory)
        self.script = directory / "script.json"
        url = make_url(self.url)
        self.relay = Relay(url.port) if url.port else None
        if self.relay:
            url = url.set(port=self.relay.own_port)
        self._shared = {
            "database": {"connection": url.render_as_string(hide_password=False)},
            "operations": {"lease": LEASE, "sweep_interval": 1},
            "coordination": {"backend_url": f"file://{directory}/locks"},
            **(sections or {}),
        }
        self._options = options
        ports = [free_port() for _ in CONTROLLERS]
        self._ports = cycle(ports)
        self.members: list[Member] = []
        for name, port in zip(CONTROLLERS, ports, strict=True):
            file = self._configuration(name, **{f"{served.api}_listen_port": port, f"{served.api}_workers": 1})
            self.members += [
                Member(f"API of {name}", file, served.name, port=port),
                Member(f"scheduler of {name}", file, served.name, "scheduler"),
            ]
        self._workers: dict[str, Path] = {}
        for name, cluster in WORKERS.items():
            more = {"cluster": cluster} if cluster else {}
            file = self._configuration(name, "shared" if cluster else "alone", **more)
            self.members.append(Member(name, file, served.name, served.part))
            self._workers[cluster or name] = file
        with self.database() as db:
            migrations.upgrade(db, served.name)

    def _configuration(self, name: str, backend: str = "", **options: Any) -> Path:
        """:param backend: the name of the one that a worker has"""
        state = self.directory / name
        state.mkdir()
        if backend:
            options[self.served.enabled] = backend
        simulated = {
            f"{self.served.part}_driver": "simulated",
            "simulated_thin": True,
            "simulated_latency": 0.3,
            "simulated_script": self.script,
            "simulated_directory": self.directory / backend,
        }
        general = self._sections(host=name, state_path=state, **self._options, **options)
        sections = {**general, **self._shared, **({backend: simulated} if backend else {})}
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
        if self.relay:
            self.relay.__exit__()

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

    def call(self, method: str, path: str, body: Any = None, who: str = "member_a") -> requests.Response:
        """At one API after the other; what only looks asks the other one when the first is dead."""
        try:
            return super().call(method, path, body, who)
        except requests.RequestException:
            if method != "GET":
                raise
        return super().call(method, path, body, who)

    def check(self) -> None:
        for member in self.members:
            assert member.alive, f"{member.name} has ended"

    def drivers(self) -> dict[str, Any]:
        found = (drivers_of(self.served, file, name, file.parent) for name, file in self._workers.items())
        return {name: driver for one in found for name, driver in one.items()}
