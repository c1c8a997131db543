from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pumice.kernel.db.base import Base
from pumice.kernel.db.engine import Database
from pumice.kernel.scheduling.pool import Pool
from tests.support.databases import url_of


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = Database(url_of(tmp_path / "pools.sqlite"))
    Base.metadata.create_all(database.engine, tables=[Base.metadata.tables[Pool.__tablename__]])
    yield database
    database.close()
