from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import text

from pumice.kernel.db import migrations, schema
from pumice.kernel.db.engine import Database


@pytest.mark.parametrize(
    ("has", "starts"),
    [("0001", False), ("0002", True), ("0003_0002", True), ("0004_0002", True), ("0004_0003", False), ("0004", False)],
)
def test_which_schema_the_code_runs_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has: str, starts: bool) -> None:
    db = Database(f"sqlite:///{tmp_path / 'db'}")
    migrations.upgrade(db, "block")
    with db.engine.connect().execution_options(pumice_write=True) as connection, connection.begin():
        connection.execute(text("UPDATE alembic_version SET version_num = :has"), {"has": has})
    for needs in ("0002", "0002_0001"):
        monkeypatch.setattr(import_module("pumice.block.migrations"), "NEWEST", needs)
        if starts:
            schema.check(db, "block")
        else:
            with pytest.raises(schema.SchemaError, match=r"pumice db upgrade|install the release"):
                schema.check(db, "block")
    db.close()


@pytest.mark.parametrize("service", ["block", "share"])
def test_the_newest_version_is_that_of_the_last_step(service: str) -> None:
    settings = migrations._settings(service)
    assert ScriptDirectory.from_config(settings).get_current_head() == schema.newest(service)
