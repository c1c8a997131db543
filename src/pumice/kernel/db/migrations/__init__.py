"""Upgrading the schema of a service's database.

The steps are alembic revisions in `pumice.<service>.migrations.versions`; what they are written with is
beside this module.
"""

from __future__ import annotations

from alembic import command
from alembic.config import Config

from pumice.kernel.db.engine import Database
from pumice.kernel.db.schema import current, newest


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


def _settings(service: str) -> Config:
    settings = Config()
    settings.set_main_option("script_location", "pumice.kernel.db:migrations")
    settings.set_main_option("version_locations", f"pumice.{service}:migrations/versions")
    settings.set_main_option("path_separator", "newline")
    return settings
