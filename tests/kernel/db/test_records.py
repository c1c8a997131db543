from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pumice.kernel.db.engine import Database
from pumice.kernel.db.records import Record, hang, records, selection
from pumice.kernel.db.scope import own
from tests.kernel.api.toy import Stone
from tests.support.databases import url_of
from tests.support.identity import PROJECT_A, PROJECT_B


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = Database(url_of(tmp_path / "db.sqlite"))
    Stone.metadata.create_all(database.engine, tables=[Stone.__table__])  # type: ignore[list-item]
    yield database
    database.close()


def test_a_record_is_read_as_the_row_that_it_is_of(db: Database) -> None:
    kept = Stone(id="1", project_id=PROJECT_A, name="n", size=2, polished=True, host="quarry-1", meta={"k": "v"})
    db.write(lambda tx: tx.add_all([kept, Stone(id="2", project_id=PROJECT_B, size=1, meta={})]))
    with db.read() as tx:
        (entity,) = tx.scalars(own(PROJECT_A).select(Stone))
        (record,) = records(tx, Stone, own(PROJECT_A).limit(selection(Stone), Stone))
    assert isinstance(record, Record)
    assert record.__dict__ == {name: getattr(entity, name) for name in record.__dict__}
    assert record.polished is True
    assert record.meta == {"k": "v"}


def test_what_belongs_to_rows_hangs_on_records_and_entities(db: Database) -> None:
    db.write(lambda tx: tx.add_all(Stone(id=id, project_id=PROJECT_A, size=1, meta={}) for id in ("1", "2")))
    with db.read() as tx:
        rows = [*tx.scalars(own(PROJECT_A).select(Stone)), *records(tx, Stone, selection(Stone))]
    hang(rows, "moss", {"1": ["green"]}, otherwise=())
    assert sorted((row.id, list(row.__dict__["moss"])) for row in rows) == [
        ("1", ["green"]),
        ("1", ["green"]),
        ("2", []),
        ("2", []),
    ]
