"""One service as an object: everything that it is made of hangs here, and nothing lives in module globals."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from oslo_config import cfg
from sqlalchemy import select

from pumice.kernel.bus import make_bus
from pumice.kernel.db import schema
from pumice.kernel.db.engine import Database
from pumice.kernel.housekeeping import Housekeeping, Periodic
from pumice.kernel.loglevels import LogLevels
from pumice.kernel.messages import Messages
from pumice.kernel.metrics import Metrics
from pumice.kernel.notify import Notifier
from pumice.kernel.operations.journal import Journal
from pumice.kernel.operations.kinds import Kind
from pumice.kernel.operations.model import queue_depths
from pumice.kernel.operations.waiting import Waiter
from pumice.kernel.quotas import Quotas

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

    from pumice.kernel.api.table import Api
    from pumice.kernel.auth.policy import Policy
    from pumice.kernel.scheduling.placing import Placer

LOG = logging.getLogger(__name__)


class Service:
    """Until `start` it has no threads and no connections, so that a process may make it and fork then.

    :cvar api_binary: the name by which clients and operators' tools know the API
    :cvar part: the name of the part that serves backends and of their queues; messages name the service by it too
    :ivar policy, resource_filters: made with the API, by `wsgi`
    :param name: "block" or "share"
    :raises ConfigError: an option is wrong
    :raises SchemaError: the database has not the schema that this code needs
    """

    api_binary: ClassVar[str]
    part: ClassVar[str]
    policy: Policy
    resource_filters: Mapping[str, Sequence[str]]

    def __init__(self, name: str, conf: cfg.ConfigOpts, kinds: Iterable[Kind], quotas: Quotas) -> None:
        self.name = name
        self.conf = conf
        self.db = Database(conf.database.connection)
        self._database_away = False
        schema.check(self.db, name)
        self.db.close()
        self.bus = make_bus(conf, name)
        self.loglevels = LogLevels(self.bus)
        self.metrics = Metrics(name)
        self.metrics.watch_drops(lambda: self.bus.dropped)
        self.metrics.watch_queues(self._queue_depths)
        self.notifier = Notifier(self.db, conf, f"{name}.{conf.host}")
        self.messages = Messages(self.part.upper(), conf.message_ttl)
        self.journal = Journal(self.db, self.bus, self.notifier, kinds, self.messages, seconds=conf.operations.deadline)
        self.waiter = Waiter(self.journal)
        self.quotas = quotas
        self._chores: list[Periodic] = [Housekeeping(self.db, conf), *self.chores()]

    @property
    def state_path(self) -> Path:
        return Path(self.conf.state_path)

    @property
    @abstractmethod
    def placer(self) -> Placer:
        """What places new resources, of a service with backends."""

    def api(self) -> Api:
        """What `wsgi` serves."""
        api: Api = import_module(f"pumice.{self.name}.routes").API
        return api

    def wsgi(self, authentication: Callable[[WSGIApplication], WSGIApplication] | None = None) -> WSGIApplication:
        """The API with authentication in front of it.

        :param authentication: instead of Keystone's (tests)
        :raises ConfigError: its policy, its filters or the section with its credentials is wrong
        """
        self.loglevels.answer_as(self.conf.host, self.api_binary)
        # Imported here, because processes that serve no API do not need the third of their memory that this takes.
        from pumice.kernel.api.front import front  # noqa: PLC0415

        return front(self, authentication)

    def trouble(self) -> list[str]:
        try:
            with self.db.read() as tx:
                tx.execute(select(1))
        except Exception:
            # Once an outage, not once a question.
            if not self._database_away:
                LOG.exception("the database does not answer")
            self._database_away = True
            return ["The database does not answer."]
        self._database_away = False
        return []

    def chores(self) -> Iterable[Periodic]:
        """What the service does from time to time, in each of its processes."""
        return ()

    def start(self) -> None:
        """Start what every process of the service has, whatever else it serves."""
        self.notifier.start()
        self.loglevels.start()
        for chore in self._chores:
            chore.start()

    def stop(self) -> None:
        for chore in self._chores:
            chore.stop()
        self.notifier.stop()
        self.bus.close()
        self.db.close()

    def _queue_depths(self) -> dict[str, int]:
        with self.db.read() as tx:
            return queue_depths(tx)
