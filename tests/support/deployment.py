"""A service in processes of its own: started, called over HTTP, killed, and looked at from outside."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Self

import requests
from sqlalchemy import select
from sqlalchemy.orm import Session

from pumice.kernel import config
from pumice.kernel.answered import Answered
from pumice.kernel.db import migrations
from pumice.kernel.db.engine import Database
from pumice.kernel.operations.model import LIVE, Operation
from tests.support.databases import url_of
from tests.support.identity import HEADER, PEOPLE
from tests.support.ports import free_port
from tests.support.processes import Process, write_configuration
from tests.support.served import Served

HOST = "crash"


def made_by(answer: Mapping[str, Any]) -> str:
    """The id of what a request has made."""
    id: str = next(iter(answer.values()))["id"]
    return id


class Deployment(ABC):
    """A service on a database of its own, whatever it runs as; everything lies below `directory`."""

    def __init__(self, served: Served, directory: Path) -> None:
        self.served = served
        self.directory = directory
        self.url = url_of(directory / f"{served.name}.sqlite")

    @abstractmethod
    def port(self) -> int:
        """Where an API of it listens."""

    @abstractmethod
    def drivers(self) -> dict[str, Any]:
        """Drivers of our own on all backends, by the backend's name, to look at what they hold."""

    @abstractmethod
    def check(self) -> None:
        """:raises AssertionError: a process has ended that should not have"""

    def prepare(self) -> None:
        """Ask what an administrator asks a new service for."""
        for ask in self.served.first:
            assert self.call(*ask).ok

    def call(self, method: str, path: str, body: Any = None, who: str = "member_a", key: str = "") -> requests.Response:
        """:param key: an Idempotency-Key"""
        prefix = self.served.prefix.format(project=PEOPLE[who].project_id)
        return requests.request(
            method,
            f"http://127.0.0.1:{self.port()}{prefix}{path}",
            json=body,
            headers={HEADER: who, **self.served.headers, **({"Idempotency-Key": key} if key else {})},
            timeout=120,
        )

    def until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        end = time.monotonic() + seconds
        while not condition():
            self.check()
            assert time.monotonic() < end, f"waited {seconds} s in vain until {what}"
            time.sleep(0.05)

    def quiet(self, seconds: float = 60) -> None:
        """Wait until every operation has ended."""
        live = select(Operation.id).where(Operation.state.in_(LIVE)).limit(1)
        self.until(lambda: not self._read(lambda tx: tx.scalars(live).all()), seconds, "all operations have ended")

    def wrong(self, accepted: Iterable[str] = (), made: Iterable[str] | None = None) -> list[str]:
        """What does not hold in the rows, when all is quiet.

        :param accepted: ids of operations that callers were told of
        :param made: ids of all that callers, with keys, were told to have made, where they were told of everything
        """

        def look(tx: Session) -> list[str]:
            known = set(tx.scalars(select(Operation.id)))
            lost = [f"operation {id} was accepted and is not known" for id in set(accepted) - known]
            if made is not None:
                lost += self._unaccounted(tx, set(made))
            return [*self.served.invariants.check(tx), *self.served.invariants.stuck(tx), *lost]

        return self._read(look)

    def _unaccounted(self, tx: Session, told: set[str]) -> list[str]:
        """Where answers, the answers kept for repeats, and what is there do not agree."""
        kept = Counter(made_by(answer) for answer in tx.scalars(select(Answered.answer)))
        there = {id for model in self.served.made for id in tx.scalars(select(model.id))}
        return [
            *(f"{id} was made by {times} requests" for id, times in kept.items() if times > 1),
            *(f"{id} was told of, and is not known" for id in told - kept.keys()),
            *(f"{id} was made, and nobody was told of it" for id in kept.keys() - told),
            *(f"{id} is there, and was made by no request that was answered" for id in there - kept.keys()),
        ]

    def wrong_on_backends(self) -> list[str]:
        """What does not hold between rows and backends, when all is quiet."""
        held = {name: driver.inventory() for name, driver in self.drivers().items()}
        compare = self.served.invariants.compare
        return self._read(lambda tx: [line for name in held for line in compare(tx, name, held[name])])

    @contextmanager
    def database(self) -> Iterator[Database]:
        with closing(Database(self.url)) as db:
            yield db

    def _read(self, look: Callable[[Session], Any]) -> Any:
        with self.database() as db, db.read() as tx:
            return look(tx)

    def _sections(self, **general: Any) -> dict[str, Mapping[str, Any]]:
        """The part of all configurations that is the same."""
        login = {"auth_url": "http://127.0.0.1:9/v3", "username": "u", "password": "p"}
        return {
            **self.served.sections,
            "DEFAULT": {"report_interval": 1, **self.served.sections["DEFAULT"], **general},
            "database": {"connection": self.url},
            "keystone_authtoken": login,
        }


class OneProcess(Deployment):
    """:param backends: section → options; each is enabled
    :param options: of [DEFAULT]
    """

    def __init__(
        self, served: Served, directory: Path, backends: Mapping[str, Mapping[str, Any]], **options: Any
    ) -> None:
        super().__init__(served, directory)
        self._port = free_port()
        self._process: Process | None = None
        general = {"host": HOST, "state_path": directory, served.enabled: ",".join(backends)}
        sections = {
            **self._sections(**general, **options),
            "operations": {"threads": 60, "reserved_threads": 8, "sweep_interval": 1},
            **backends,
        }
        self.file = write_configuration(directory / f"{served.name}.conf", sections)
        with self.database() as db:
            migrations.upgrade(db, served.name)

    def __enter__(self) -> Self:
        self.start()
        self.prepare()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def port(self) -> int:
        return self._port

    def check(self) -> None:
        assert self._process is not None
        assert self._process.process.poll() is None, f"the service ended: {self._process.output.read_text()[-4000:]}"

    def start(self) -> None:
        module = "tests.support.service_process"
        self._process = Process(self.file, self.served.name, str(self._port), port=self._port, module=module)
        self._process.ready()

    def kill(self) -> None:
        """SIGKILL, as if the power of the process went off."""
        if self._process is not None:
            self._process.__exit__()
            self._process = None

    def drivers(self) -> dict[str, Any]:
        return drivers_of(self.served, self.file, HOST, self.directory)


def drivers_of(served: Served, file: Path, host: str, directory: Path) -> dict[str, Any]:
    """Drivers of the backends that a configuration names, by the backend's name; `host` may be a cluster."""
    found = config.backends(config.load(served.name, [file]), served.name)
    return {f"{host}@{one.name}": one.driver(one.section, name=one.name, state_dir=directory) for one in found}
