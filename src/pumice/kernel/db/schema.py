"""Which schema a service's database has, and whether this code runs on it.

Versions are numbers in order, "0003". One that ends in "_0002" says that code which was made for 0002 runs on it too:
it only adds (expand). So the database is upgraded first, under the processes of the last release, and these are
replaced then, one by one. What removes or changes (contract) waits for a release whose processes can do without.
"""

from __future__ import annotations

from importlib import import_module

from sqlalchemy import inspect, text

from pumice.kernel.db.engine import Database


class SchemaError(Exception):
    """The database has not a schema that this code runs on; the message says what to do."""


def current(db: Database) -> str | None:
    """The version of the database's schema; None when it has none yet."""
    with db.engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        version: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
        return version


def newest(service: str) -> str:
    """The version that this code was made for."""
    version: str = import_module(f"pumice.{service}.migrations").NEWEST
    return version


def runs_on(needs: str, has: str) -> bool:
    """Whether code that was made for the version `needs` runs on a database of version `has`."""
    number, _, oldest = has.partition("_")
    return (oldest or number) <= needs.partition("_")[0] <= number


def check(db: Database, service: str) -> None:
    """:raises SchemaError: this code does not run on the database's schema"""
    has, needs = current(db), newest(service)
    if has is None or has.partition("_")[0] < needs.partition("_")[0]:
        raise SchemaError(
            f"The database has schema version {has or 'none'} and this code needs {needs}: "
            f"run `pumice db upgrade --service {service}`."
        )
    if not runs_on(needs, has):
        raise SchemaError(
            f"The database has schema version {has}, on which this code, made for {needs}, does not run: "
            "install the release that the database was upgraded to."
        )
