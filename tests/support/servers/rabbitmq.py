"""RabbitMQ, with the user guest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from kombu import Connection

from tests.support.ports import free_port
from tests.support.servers.process import ADDRESS, Server

# Debian's commands of these names become another user before anything else.
_PROGRAMS = Path("/usr/lib/rabbitmq/bin")


class _PortMapper(Server):
    """Erlang's; the broker would otherwise start one that stays."""

    def __init__(self) -> None:
        super().__init__("epmd")
        self.port = free_port()

    @property
    def command(self) -> Sequence[str]:
        return ["epmd", "-address", ADDRESS, "-port", str(self.port)]

    def ready(self) -> bool:
        self.run("epmd", "-port", str(self.port), "-names")
        return True


class RabbitMQ(Server):
    def __init__(self) -> None:
        super().__init__("rabbitmq")
        self.port = free_port()
        self.url = f"rabbit://guest:guest@{ADDRESS}:{self.port}/"
        self._mapper = _PortMapper()
        self._environment = {
            "HOME": self.directory,  # of the cookie
            "ERL_EPMD_PORT": self._mapper.port,
            "RABBITMQ_NODENAME": f"pumice-{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": ADDRESS,
            "RABBITMQ_NODE_PORT": self.port,
            "RABBITMQ_DIST_PORT": free_port(),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1} +sbwt none",
            "RABBITMQ_MNESIA_BASE": self.directory / "mnesia",
            "RABBITMQ_LOG_BASE": self.directory / "logs",
            "RABBITMQ_PID_FILE": self.directory / "pid",
            "RABBITMQ_CONFIG_FILE": self.directory / "none",
            "RABBITMQ_CONF_ENV_FILE": self.directory / "none",
            "RABBITMQ_ENABLED_PLUGINS_FILE": self.directory / "plugins",
        }

    def __enter__(self) -> Self:
        self._mapper.__enter__()
        return super().__enter__()

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._mapper.__exit__()

    @property
    def command(self) -> Sequence[str]:
        return [f"{_PROGRAMS}/rabbitmq-server"]

    @property
    def environment(self) -> Mapping[str, str]:
        return {name: str(value) for name, value in self._environment.items()}

    def ready(self) -> bool:
        # What it prints is quicker than its command line, which is a second virtual machine.
        return self.log.read_text().count("completed with") == self.starts

    def purge(self) -> None:
        """Throw away all messages that wait."""
        with Connection(self.url.replace("rabbit:", "amqp:") + "/") as connection:
            for name in self._ctl("list_queues", "--silent", "name").split():
                connection.default_channel.queue_purge(name)

    def close_connections(self) -> None:
        self._ctl("close_all_connections", "the test wants it")

    def _ctl(self, *words: str) -> str:
        return self.run(f"{_PROGRAMS}/rabbitmqctl", *words)
