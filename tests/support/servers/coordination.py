"""etcd and ZooKeeper, one node of each."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

from tests.support.ports import free_port
from tests.support.servers.process import ADDRESS, Server


class Etcd(Server):
    def __init__(self) -> None:
        super().__init__("etcd")
        self.port = free_port()
        self._peers = f"http://{ADDRESS}:{free_port()}"
        self._clients = f"http://{ADDRESS}:{self.port}"

    def url(self, lock_timeout: int = 5) -> str:
        """:param lock_timeout: seconds after which a lock is free whose holder is dead"""
        return (
            f"etcd3+http://{ADDRESS}:{self.port}"
            f"?api_version=v3&lock_timeout={lock_timeout}&membership_timeout={lock_timeout}"
        )

    @property
    def command(self) -> Sequence[str]:
        return [
            *("etcd", "--data-dir", f"{self.directory}/data", "--unsafe-no-fsync"),
            *("--listen-client-urls", self._clients, "--advertise-client-urls", self._clients),
            *("--listen-peer-urls", self._peers, "--initial-advertise-peer-urls", self._peers),
            *("--initial-cluster", f"default={self._peers}"),
        ]

    def ready(self) -> bool:
        return b'"health":"true"' in _ask(self.port, b"GET /health HTTP/1.0\r\n\r\n")


class ZooKeeper(Server):
    def __init__(self) -> None:
        super().__init__("zookeeper")
        self.port = free_port()

    def url(self, lock_timeout: int = 5) -> str:
        """:param lock_timeout: seconds after which a lock is free whose holder is dead"""
        return f"zookeeper://{ADDRESS}:{self.port}?timeout={lock_timeout}"

    def prepare(self) -> None:
        settings = {
            "dataDir": self.directory / "data",
            "clientPort": self.port,
            "clientPortAddress": ADDRESS,
            "tickTime": 500,
            "maxSessionTimeout": 60000,
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "ruok",
        }
        (self.directory / "zoo.cfg").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))

    @property
    def command(self) -> Sequence[str]:
        jars = ("zookeeper", "zookeeper-jute", "slf4j-api", "slf4j-simple", "netty-*", "snappy-java", "metrics-core")
        found = [str(path) for jar in jars for path in Path("/usr/share/java").glob(f"{jar}.jar")]
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        return ["java", "-Xmx128m", "-cp", ":".join(found), main, f"{self.directory}/zoo.cfg"]

    def ready(self) -> bool:
        return _ask(self.port, b"ruok") == b"imok"


def _ask(port: int, question: bytes) -> bytes:
    with socket.create_connection((ADDRESS, port), timeout=5) as connection:
        connection.sendall(question)
        answer = b""
        while received := connection.recv(4096):
            answer += received
        return answer
