"""A service in a process of its own: started, called over HTTP, killed, and looked at from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import requests
from sqlalchemy import select
from sqlalchemy.orm import Session

from pumice.kernel import config
from pumice.kernel.db.engine import Database
from pumice.kernel.operations.model import LIVE, Operation
from tests.support.databases import url_of
from tests.support.identity import HEADER, PEOPLE
from tests.support.served import Served
from tests.support.tgtd import free_port

ROOT = Path(__file__).parents[2]
HOST = "crash"


class Deployment:
    """:param backends: section → options; each is enabled. Everything lies below `directory`.
    :param options: of [DEFAULT]
    """

    def __init__(
        self, served: Served, directory: Path, backends: Mapping[str, Mapping[str, Any]], **options: Any
    ) -> None:
        self.served = served
        self.directory = directory
        self.backends = backends
        self.port = free_port()
        self.file = directory / f"{served.name}.conf"
        self.log = directory / "log"
        self._process: subprocess.Popen[bytes] | None = None
        general = {"host": HOST, "state_path": directory, "report_interval": 1, served.enabled: ",".join(backends)}
        sections: dict[str, Mapping[str, Any]] = {
            **served.sections,
            "DEFAULT": {**general, **served.sections["DEFAULT"], **options},
            "database": {"connection": self._url},
            "operations": {"threads": 60, "reserved_threads": 8, "sweep_interval": 1},
            **backends,
        }
        text = "".join(
            f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())
            for name, values in sections.items()
        )
        self.file.write_text(text)

    def __enter__(self) -> Self:
        self.start()
        for ask in self.served.first:
            assert self.call(*ask).ok
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "tests.support.service_process"),
                    *(self.served.name, str(self.file), str(self.port)),
                ],
                cwd=ROOT,
                env=os.environ | {"PYTHONWARNINGS": "ignore"},
                stdout=log,
                stderr=log,
            )
        self.until(self._answers, 60, "the service answers")

    def kill(self) -> None:
        """SIGKILL, as if the power of the process went off."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def call(self, method: str, path: str, body: Any = None, who: str = "member_a") -> requests.Response:
        prefix = self.served.prefix.format(project=PEOPLE[who].project_id)
        return requests.request(
            method,
            f"http://127.0.0.1:{self.port}{prefix}{path}",
            json=body,
            headers={HEADER: who, **self.served.headers},
            timeout=120,
        )

    def until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert self._process is not None
            assert self._process.poll() is None, f"the service ended: {self.log.read_text()[-4000:]}"
            assert time.monotonic() < end, f"waited {seconds} s in vain until {what}"
            time.sleep(0.05)

    def quiet(self, seconds: float = 60) -> None:
        """Wait until every operation has ended."""
        live = select(Operation.id).where(Operation.state.in_(LIVE)).limit(1)
        self.until(lambda: not self._read(lambda tx: tx.scalars(live).all()), seconds, "all operations have ended")

    def wrong(self, accepted: Iterable[str] = ()) -> list[str]:
        """What does not hold in the rows, when all is quiet.

        :param accepted: ids of operations that callers were told of
        """

        def look(tx: Session) -> list[str]:
            known = set(tx.scalars(select(Operation.id)))
            lost = [f"operation {id} was accepted and is not known" for id in set(accepted) - known]
            return [*self.served.invariants.check(tx), *self.served.invariants.stuck(tx), *lost]

        return self._read(look)

    def wrong_on_backends(self) -> list[str]:
        """What does not hold between rows and backends, when all is quiet."""
        held = {f"{HOST}@{name}": driver.inventory() for name, driver in self.drivers().items()}
        compare = self.served.invariants.compare
        return self._read(lambda tx: [line for name in held for line in compare(tx, name, held[name])])

    @contextmanager
    def database(self) -> Iterator[Database]:
        db = Database(self._url)
        try:
            yield db
        finally:
            db.close()

    def drivers(self) -> dict[str, Any]:
        """Drivers of our own on the same backends, to look at what they hold."""
        conf = config.load(self.served.name, [self.file])
        return {
            one.name: one.driver(one.section, name=one.name, state_dir=self.directory)
            for one in config.backends(conf, self.served.name)
        }

    @property
    def _url(self) -> str:
        return url_of(self.directory / f"{self.served.name}.sqlite")

    def _read(self, look: Callable[[Session], Any]) -> Any:
        with self.database() as db, db.read() as tx:
            return look(tx)

    def _answers(self) -> bool:
        try:
            return requests.get(f"http://127.0.0.1:{self.port}/healthcheck", timeout=5).ok
        except requests.ConnectionError:
            return False
