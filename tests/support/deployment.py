"""A Block Storage service in a process of its own: started, called over HTTP, killed, and looked at from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import requests
from sqlalchemy import select

from pumice.block import invariants
from pumice.block.drivers.base import Driver
from pumice.kernel import config
from pumice.kernel.db.engine import Database
from pumice.kernel.operations.model import LIVE, Operation
from tests.support.databases import url_of
from tests.support.identity import HEADER, PEOPLE
from tests.support.tgtd import free_port

ROOT = Path(__file__).parents[2]
HOST = "crash"


class Deployment:
    """:param backends: section → options; each is enabled. Everything lies below `directory`."""

    def __init__(self, directory: Path, backends: Mapping[str, Mapping[str, Any]], **options: Any) -> None:
        self.directory = directory
        self.backends = backends
        self.port = free_port()
        self.file = directory / "block.conf"
        self.log = directory / "log"
        self._process: subprocess.Popen[bytes] | None = None
        general = {
            "host": HOST,
            "state_path": directory,
            "enabled_backends": ",".join(backends),
            "report_interval": 1,
            "quota_volumes": -1,
            "quota_snapshots": -1,
            "quota_gigabytes": -1,
            **options,
        }
        sections: dict[str, Mapping[str, Any]] = {
            "DEFAULT": general,
            "database": {"connection": url_of(directory / "block.sqlite")},
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
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.block_process", str(self.file), str(self.port)],
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
        project = PEOPLE[who].project_id
        return requests.request(
            method,
            f"http://127.0.0.1:{self.port}/v3/{project}{path}",
            json=body,
            headers={HEADER: who, "OpenStack-API-Version": "volume 3.71"},
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
        db = self.database()
        try:
            self.until(lambda: not self._live(db), seconds, "all operations have ended")
        finally:
            db.close()

    def wrong(self) -> list[str]:
        """What does not hold, in the rows and between rows and backends; to be asked when all is quiet."""
        db = self.database()
        with db.read() as tx:
            found = invariants.check(tx) + invariants.stuck(tx)
            for name, driver in self.drivers().items():
                found += invariants.compare(tx, f"{HOST}@{name}", driver.inventory())
        db.close()
        return found

    def database(self) -> Database:
        return Database(url_of(self.directory / "block.sqlite"))

    def drivers(self) -> dict[str, Driver]:
        """Drivers of our own on the same backends, to look at what they hold."""
        conf = config.load("block", [self.file])
        return {
            one.name: one.driver(one.section, name=one.name, state_dir=self.directory)
            for one in config.backends(conf, "block")
        }

    def _answers(self) -> bool:
        try:
            return requests.get(f"http://127.0.0.1:{self.port}/healthcheck", timeout=5).ok
        except requests.ConnectionError:
            return False

    @staticmethod
    def _live(db: Database) -> bool:
        with db.read() as tx:
            return tx.scalars(select(Operation.id).where(Operation.state.in_(LIVE)).limit(1)).first() is not None
