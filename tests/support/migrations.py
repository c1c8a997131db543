"""What holds of the schema steps of every service."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Table

from pumice.kernel.db import migrations, schema
from pumice.kernel.db.base import Base
from pumice.kernel.db.engine import Database
from tests.support.databases import url_of


def tables_of(service: str) -> list[Table]:
    """The tables that a service and the kernel declare."""
    importlib.import_module(f"pumice.{service}.service")
    rooms = ("pumice.kernel.", f"pumice.{service}.")
    mappers = [one for one in Base.registry.mappers if one.class_.__module__.startswith(rooms)]
    return [Base.metadata.tables[one.class_.__tablename__] for one in mappers]


def steps_lead_to(service: str, directory: Path) -> None:
    """The steps lead to the tables that the code declares."""
    db = Database(url_of(directory / "db.sqlite"))
    migrations.upgrade(db, service)
    names = {table.name for table in tables_of(service)}

    def ours(_object: Any, name: str | None, type_: str, *_: Any) -> bool:
        return type_ != "table" or name in names

    with db.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_object": ours, "compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    db.close()


def empty_is_refused(service: str, directory: Path) -> None:
    """An empty database is refused with the command that helps."""
    db = Database(url_of(directory / "db.sqlite"))
    with pytest.raises(schema.SchemaError, match=rf"none.*pumice db upgrade --service {service}"):
        schema.check(db, service)
    assert migrations.upgrade(db, service) == schema.newest(service)
    schema.check(db, service)
    assert migrations.upgrade(db, service) == schema.newest(service)
    db.close()
