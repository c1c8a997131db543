"""One service as an object: everything that it is made of hangs here, and nothing lives in module globals."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from oslo_config import cfg
from sqlalchemy import select

from pumice.kernel.api.app import build_app
from pumice.kernel.api.routes import Route, Rule
from pumice.kernel.api.versions import Dialect
from pumice.kernel.auth.middleware import Authentication
from pumice.kernel.auth.policy import Policy, defaults_of
from pumice.kernel.bus import make_bus
from pumice.kernel.config import ConfigError
from pumice.kernel.db import schema
from pumice.kernel.db.engine import Database
from pumice.kernel.db.paging import Listing, read_resource_filters
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
from pumice.kernel.supervision import supervised

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """A service's API as data.

    :param helpers: policy rules that only other rules ask
    :param helper_of: check string → the helper that stands for it
    :param listings: whose filters an operator may configure; `other_filters` are of lists that are not of rows
    """

    dialect: Dialect
    table: Sequence[Route]
    rules: Sequence[Rule]
    helpers: Sequence[Rule] = ()
    helper_of: Mapping[str, str] = field(default_factory=dict)
    listings: Sequence[Listing[Any]] = ()
    other_filters: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Service:
    """:cvar api_binary: the name by which clients and operators' tools know the API
    :param name: "block" or "share"
    :raises ConfigError: an option is wrong
    :raises SchemaError: the database has not the schema that this code needs
    """

    api_binary: ClassVar[str]

    def __init__(self, name: str, conf: cfg.ConfigOpts, api: Api, kinds: Iterable[Kind], quotas: Quotas) -> None:
        self.name = name
        self.conf = conf
        self.api = api
        self.db = Database(conf.database.connection)
        schema.check(self.db, name)
        self.bus = make_bus(conf, name)
        self.loglevels = LogLevels(self.bus)
        self.policy = Policy(conf, defaults_of(api.table, api.rules, api.helpers, api.helper_of))
        self.metrics = Metrics(name)
        self.metrics.watch_drops(lambda: self.bus.dropped)
        self.metrics.watch_queues(self._queue_depths)
        self.notifier = Notifier(self.db, conf, f"{name}.{conf.host}")
        self.messages = Messages(api.dialect.service.upper(), conf.message_ttl)
        self.journal = Journal(self.db, self.bus, self.notifier, kinds, self.messages, seconds=conf.operations.deadline)
        self.waiter = Waiter(self.journal)
        self.quotas = quotas
        self.resource_filters = self._resource_filters()
        self._chores: list[Periodic] = [Housekeeping(self.db, conf), *self.chores()]

    @property
    def state_path(self) -> Path:
        return Path(self.conf.state_path)

    def wsgi(self, authentication: Callable[[WSGIApplication], WSGIApplication] | None = None) -> WSGIApplication:
        """The API with authentication in front of it.

        :param authentication: instead of Keystone's (tests)
        """
        self.waiter.listen()
        self.loglevels.listen()
        self.loglevels.answer_as(self.conf.host, self.api_binary)
        app = build_app(self, self.api.table, self.api.rules, self.api.dialect)
        if authentication is not None:
            return supervised(self, authentication(app))
        return supervised(self, Authentication(app, self.conf, self.policy, self.api.dialect.open_paths))

    def trouble(self) -> list[str]:
        try:
            with self.db.read() as tx:
                tx.execute(select(1))
        except Exception:
            LOG.warning("the database does not answer", exc_info=True)
            return ["The database does not answer."]
        return []

    def chores(self) -> Iterable[Periodic]:
        """What the service does from time to time, in each of its processes."""
        return ()

    def start(self) -> None:
        """Start what every process of the service has, whatever else it serves."""
        self.notifier.start()
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

    def _resource_filters(self) -> Mapping[str, Sequence[str]]:
        path = self.conf.resource_query_filters_file
        try:
            return read_resource_filters(self.api.listings, Path(path) if path else None, others=self.api.other_filters)
        except ValueError as error:
            raise ConfigError(f"[DEFAULT] resource_query_filters_file = {path}: {error}") from error
