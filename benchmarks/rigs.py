"""The services that are measured: the peer, driven by its own script, and Pumice beside it.

Both use the peer's Keystone, MariaDB and RabbitMQ; the peer keeps tokens in memcached, Pumice in each process, as by
default.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from figures import Client, Target, wait

PEERS = {"block": "cinder", "share": "manila"}
PEER_TYPES = {"block": "fake", "share": "default"}
API_PROCESSES = 2


class Peer:
    """:param script: its command
    :param directory: where `script setup` has put it
    """

    def __init__(self, script: Path, directory: Path, service: str) -> None:
        self._script = script
        self.directory = directory
        self.service = service
        self.name = PEERS[service]
        self.ports: Mapping[str, int] = json.loads((directory / "ports.json").read_text())

    def run(self, *arguments: str) -> str:
        command = [str(self._script), arguments[0], str(self.directory), *arguments[1:]]
        return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout

    def login(self, who: str = "demo") -> tuple[str, str]:
        """A token and the id of its project."""
        token, project = self.run("token", who, who, who).split()
        return token, project

    def target(self) -> Target:
        token, project = self.login()
        path = f"/v3/{project}" if self.service == "block" else "/v2"
        return Target(self.service, f"http://127.0.0.1:{self.ports[self.name]}{path}", token, PEER_TYPES[self.service])

    def memory(self) -> float:
        """PSS of all processes of the service, in MiB."""
        found = re.search(rf"{self.name} together: .*PSS (\d+) MiB", self.run("status"))
        assert found
        return float(found[1])

    def first_answer(self, target: Target) -> float:
        """Seconds from the start of the API, which is stopped before, to its first answer."""
        self.run("stop", f"{self.name}-api")
        begin = time.perf_counter()
        command = [str(self._script), "start", str(self.directory), f"{self.name}-api"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
            return _first_answer(target, begin)


class Pumice:
    """:param driver: SQLAlchemy's name of the client library for MariaDB"""

    def __init__(self, peer: Peer, directory: Path, driver: str, port: int) -> None:
        self._peer = peer
        self._service = peer.service
        self._file = directory / f"{self._service}.conf"
        self._database = f"pumice_bench_{self._service}"
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True, exist_ok=True)
        self._file.write_text(_text(self._sections(directory, driver)))

    def _sections(self, directory: Path, driver: str) -> Mapping[str, Mapping[str, Any]]:
        ports, block = self._peer.ports, self._service == "block"
        prefix = "osapi_volume" if block else "osapi_share"
        backend = {"volume_driver" if block else "share_driver": "simulated", "simulated_capacity_gb": 1_000_000}
        return {
            "DEFAULT": {
                "host": "bench",
                "state_path": directory / self._service,
                "log_dir": directory,
                "transport_url": f"rabbit://guest:guest@127.0.0.1:{ports['rabbitmq']}/{self._peer.name}",
                "enabled_backends" if block else "enabled_share_backends": "sim",
                f"{prefix}_listen": "127.0.0.1",
                f"{prefix}_listen_port": self._port,
                f"{prefix}_workers": API_PROCESSES,
                "api_threads": 16,
                **({"quota_volumes": -1, "quota_gigabytes": -1} if block else {"default_share_type": "default"}),
            },
            "quota": {} if block else {"shares": -1, "gigabytes": -1},
            "database": {"connection": f"{driver}://peer:peer@127.0.0.1:{ports['mariadb']}/{self._database}"},
            "coordination": {"backend_url": f"file://{directory}/locks"},
            "sim": {**backend, "simulated_directory": directory / f"{self._service}-backend"},
            "keystone_authtoken": {
                "auth_url": f"http://127.0.0.1:{ports['keystone']}/v3",
                "auth_type": "password",
                "username": self._peer.name,
                "password": "peer",
                "project_name": "service",
                "user_domain_id": "default",
                "project_domain_id": "default",
            },
        }

    @contextmanager
    def running(self) -> Iterator[Target]:
        """All its processes, on a database of its own that begins empty; the API to be measured."""
        self._sql(f"DROP DATABASE IF EXISTS {self._database}")
        self._sql(f"CREATE DATABASE {self._database} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
        self._sql(f"GRANT ALL ON {self._database}.* TO peer@'%'")
        try:
            subprocess.run(self._command("db", "upgrade", "--service", self._service), check=True)
            self._start()
            token, project = self._peer.login()
            target = self._target(token, project, "__DEFAULT__" if self._service == "block" else "default")
            _first_answer(target, time.perf_counter())
            if self._service == "share":
                self._make_type()
            yield target
        finally:
            self._stop()
            self._sql(f"DROP DATABASE IF EXISTS {self._database}")

    def memory(self) -> float:
        """PSS of all processes of the service, in MiB."""
        assert self._process is not None
        return sum(_pss(pid) for pid in _family(self._process.pid)) / 1024

    def first_answer(self, target: Target) -> float:
        """Seconds from the start of the whole service, which is stopped before, to its API's first answer."""
        self._stop()
        begin = time.perf_counter()
        self._start()
        return _first_answer(target, begin)

    def _target(self, token: str, project: str, type_name: str) -> Target:
        path = f"/v3/{project}" if self._service == "block" else "/v2"
        return Target(self._service, f"http://127.0.0.1:{self._port}{path}", token, type_name)

    def _make_type(self) -> None:
        admin = Client(self._target(*self._peer.login("admin"), ""))
        specs = {"driver_handles_share_servers": "False", "snapshot_support": "True"}
        admin.good("POST", "/types", {"share_type": {"name": "default", "extra_specs": specs}})

    def _command(self, *arguments: str) -> list[str]:
        return [str(Path(sys.executable).with_name("pumice")), "--config-file", str(self._file), *arguments]

    def _start(self) -> None:
        command = self._command(self._service, "run")
        with self._file.with_name(f"{self._service}-run.out").open("ab") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output)

    def _stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)
            self._process = None

    def _sql(self, statement: str) -> None:
        server = self._peer.directory / "run/mariadb.sock"
        subprocess.run(["mariadb", "--no-defaults", "-uroot", "-S", str(server), "-e", statement], check=True)


def _first_answer(target: Target, begin: float) -> float:
    wait(lambda: _answers(target), poll=0.01)
    return time.perf_counter() - begin


def _answers(target: Target) -> bool:
    try:
        status, answer = Client(target).call("GET", f"/{target.noun}s?limit=1")
    except OSError:
        return False
    if status not in {200, 503}:
        raise RuntimeError(f"{target.url}: {status} {answer}")
    return status == 200


def _text(sections: Mapping[str, Mapping[str, Any]]) -> str:
    return "".join(f"[{name}]\n" + "".join(f"{k} = {v}\n" for k, v in of.items()) for name, of in sections.items())


def _family(pid: int) -> list[int]:
    """The process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in _family(int(child)))]


def _pss(pid: int) -> int:
    """In KiB."""
    found = re.search(r"^Pss: +(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    return int(found[1]) if found else 0


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def load_average() -> str:
    return f"{os.getloadavg()[0]:.1f}"
