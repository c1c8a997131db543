from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pumice.kernel.db.base import Base
from pumice.kernel.db.engine import Database
from pumice.kernel.scheduling.pool import Pool
from pumice.kernel.services import WorkerService
from tests.support.databases import url_of

MODELS: tuple[type[Base], ...] = (Pool, WorkerService)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = Database(url_of(tmp_path / "pools.sqlite"))
    Base.metadata.create_all(database.engine, tables=[model.metadata.tables[model.__tablename__] for model in MODELS])
    yield database
    database.close()
