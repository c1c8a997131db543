"""The servers that the services of a cloud share, as these reach them: through relays that can cut the connections."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import make_url

from tests.support import databases
from tests.support.relay import Relay
from tests.support.servers.coordination import Etcd
from tests.support.servers.galera import Galera, GaleraNode
from tests.support.servers.rabbitmq import RabbitMQ


@dataclass(frozen=True, slots=True)
class Underneath:
    """:param database: leads to the server of databases, or to what stands before its nodes
    :param nodes: of Galera, if it is that
    :param messages: leads to the broker
    """

    database: Relay
    nodes: Sequence[GaleraNode]
    broker: RabbitMQ
    messages: Relay
    etcd: Etcd

    def database_url(self, url: str) -> str:
        return _through(self.database, url)

    @property
    def options(self) -> Mapping[str, Any]:
        """Of [DEFAULT]."""
        return {"transport_url": _through(self.messages, self.broker.url)}

    @property
    def sections(self) -> Mapping[str, Mapping[str, Any]]:
        return {"coordination": {"backend_url": self.etcd.url()}}


@contextmanager
def underneath(broker: RabbitMQ, etcd: Etcd) -> Iterator[Underneath]:
    """With the databases where --database has them, on a server of this machine."""
    server = databases.started()
    nodes = server.nodes if isinstance(server, Galera) else ()
    port = make_url(os.environ[databases.SERVER]).port
    assert port, "a relay needs a port to lead to"
    with Relay(port) as database, Relay(broker.port) as messages:
        yield Underneath(database, nodes, broker, messages, etcd)


def _through(relay: Relay, url: str) -> str:
    return make_url(url).set(port=relay.own_port).render_as_string(hide_password=False)
