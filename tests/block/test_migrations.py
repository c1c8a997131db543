from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from pumice.block.tables import TABLES
from pumice.kernel.db import migrations
from pumice.kernel.db.base import Base
from pumice.kernel.db.engine import Database
from tests.support.databases import url_of


def test_the_steps_lead_to_the_tables_that_the_code_declares(tmp_path: Path) -> None:
    db = Database(url_of(tmp_path / "db.sqlite"))
    migrations.upgrade(db, "block")
    names = {table.name for table in TABLES}

    def ours(_object: Any, name: str | None, type_: str, *_: Any) -> bool:
        return type_ != "table" or name in names

    with db.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_object": ours, "compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    db.close()


def test_an_empty_database_is_refused_with_the_command_that_helps(tmp_path: Path) -> None:
    db = Database(url_of(tmp_path / "db.sqlite"))
    with pytest.raises(migrations.SchemaError, match=r"none.*pumice db upgrade --service block"):
        migrations.check(db, "block")
    assert migrations.upgrade(db, "block") == migrations.newest("block")
    migrations.check(db, "block")
    assert migrations.upgrade(db, "block") == migrations.newest("block")
    db.close()
