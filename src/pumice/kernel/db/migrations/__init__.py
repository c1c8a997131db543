"""The schema of a service's database: its versions, upgrading it, and refusing to run on another one.

The steps are alembic revisions in `pumice.<service>.migrations.versions`; what they are written with is
beside this module.
"""

from __future__ import annotations

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from pumice.kernel.db.engine import Database


class SchemaError(Exception):
    """The database has not the schema that this code needs; the message says what to do."""


def upgrade(db: Database, service: str) -> str:
    """Bring the database to the newest schema; it may be empty. Returns the version it has then."""
    settings = _settings(service)
    if db.url.get_backend_name() in {"mysql", "mariadb"} and current(db) is None:
        # What tables inherit: every character can be stored, and texts that differ are different, as elsewhere.
        with db.engine.begin() as connection:
            connection.exec_driver_sql("ALTER DATABASE CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
    with db.engine.connect().execution_options(pumice_write=True) as connection, connection.begin():
        settings.attributes["connection"] = connection
        command.upgrade(settings, "head")
    return newest(service)


def current(db: Database) -> str | None:
    """The version of the database's schema; None when it has none yet."""
    with db.engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def newest(service: str) -> str:
    """The version that this code needs."""
    head = ScriptDirectory.from_config(_settings(service)).get_current_head()
    assert head is not None
    return head


def check(db: Database, service: str) -> None:
    """:raises SchemaError: the database is not at the version that this code needs"""
    has, needs = current(db), newest(service)
    if has != needs:
        raise SchemaError(
            f"The database has schema version {has or 'none'} and this code needs {needs}: "
            f"run `pumice db upgrade --service {service}`."
        )


def _settings(service: str) -> Config:
    settings = Config()
    settings.set_main_option("script_location", "pumice.kernel.db:migrations")
    settings.set_main_option("version_locations", f"pumice.{service}:migrations/versions")
    settings.set_main_option("path_separator", "newline")
    return settings
