"""Bringing a service's database to this release."""

from __future__ import annotations

from contextlib import closing

from alembic.util import CommandError
from oslo_config import cfg

from pumice.kernel.db import migrations
from pumice.kernel.db.engine import Database

from .errors import StandaloneError


def upgrade(conf: cfg.ConfigOpts, service: str) -> None:
    """:raises StandaloneError: the database is a newer release's"""
    with closing(Database(conf.database.connection)) as database:
        try:
            migrations.upgrade(database, service)
        except CommandError as error:
            raise StandaloneError(f"the database is not one of this release, perhaps of a newer one: {error}") from None
