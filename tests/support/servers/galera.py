"""A Galera cluster of three nodes behind HAProxy, which gives each new connection to the next node."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Self
from urllib.parse import quote

from sqlalchemy.exc import OperationalError

from tests.support.ports import free_port
from tests.support.servers.process import ADDRESS, Server
from tests.support.servers.sql import MariaDB

CAUSAL = quote("SET SESSION wsrep_sync_wait=7")
"""Each statement sees what any node has committed before it."""


class GaleraNode(MariaDB):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.replication = free_port()
        self.peers: list[GaleraNode] = []
        """The nodes that it may join; none of them for the first start of all."""
        self._transfer = (free_port(), free_port())

    @property
    def command(self) -> Sequence[str]:
        incremental, whole = self._transfer
        provider = {
            "base_port": self.replication,
            "gmcast.listen_addr": f"tcp://{ADDRESS}:{self.replication}",
            "ist.recv_addr": f"{ADDRESS}:{incremental}",
            "gcache.size": "16M",
        }
        return [
            *super().command,
            *("--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--wsrep-on=ON", "--wsrep-cluster-name=pumice"),
            *("--wsrep-provider=/usr/lib/galera/libgalera_smm.so", "--wsrep-sst-method=rsync"),
            f"--wsrep-provider-options={';'.join(f'{name}={value}' for name, value in provider.items())}",
            f"--wsrep-cluster-address=gcomm://{','.join(f'{ADDRESS}:{peer.replication}' for peer in self.peers)}",
            *(f"--wsrep-node-address={ADDRESS}", f"--wsrep-sst-receive-address={ADDRESS}:{whole}"),
            *("--wsrep-slave-threads=4", f"--wsrep-node-name={self.name}"),
        ]

    def ready(self) -> bool:
        try:
            return self.status("wsrep_ready") == "ON"
        except OperationalError:
            return False

    def status(self, name: str) -> str:
        ((_, value),) = self.query(f"SHOW STATUS LIKE '{name}'")
        return str(value)


class HAProxy(Server):
    def __init__(self, servers: Sequence[MariaDB]) -> None:
        super().__init__("haproxy")
        self.port = free_port()
        lines = [
            *("defaults", "mode tcp", "timeout connect 2s", "timeout client 10m", "timeout server 10m"),
            *("listen database", f"bind {ADDRESS}:{self.port}", "balance roundrobin", "retries 3", "option redispatch"),
            "default-server check inter 500ms fall 2 rise 2 on-marked-down shutdown-sessions",
            *(f"server {server.name} {ADDRESS}:{server.port}" for server in servers),
        ]
        (self.directory / "haproxy.cfg").write_text("\n".join(lines) + "\n")

    @property
    def command(self) -> Sequence[str]:
        return ["haproxy", "-db", "-f", f"{self.directory}/haproxy.cfg"]

    def ready(self) -> bool:
        socket.create_connection((ADDRESS, self.port), timeout=5).close()
        return True


class Galera:
    """Runs within `with`; `url` leads to all nodes in turn."""

    def __init__(self) -> None:
        self.nodes = [GaleraNode(f"galera{number}") for number in (1, 2, 3)]
        self.proxy = HAProxy(self.nodes)
        self.url = f"mysql+pymysql://root@{ADDRESS}:{self.proxy.port}/?init_command={CAUSAL}"
        self._ends = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as ends:
            first, *others = self.nodes
            ends.enter_context(first)
            first.peers = others
            for node in others:
                node.peers = [peer for peer in self.nodes if peer is not node]
                ends.enter_context(node)
            ends.enter_context(self.proxy)
            self._ends = ends.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()
