from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pumice.block.types.lookup import BUILT_IN, default_type, ensure_default_type
from pumice.block.types.model import DefaultType, VolumeType, VolumeTypeAccess
from pumice.kernel.db.base import Base
from pumice.kernel.db.engine import Database
from pumice.kernel.db.scope import everything, own
from pumice.kernel.errors import NotFound
from pumice.kernel.types import find_type
from tests.support.databases import url_of


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    db = Database(url_of(tmp_path / "types.sqlite"))
    Base.metadata.create_all(db.engine)
    yield db
    db.close()


def add(db: Database, name: str, **values: Any) -> str:
    def work(tx: Any) -> str:
        row = VolumeType(name=name, extra_specs={}, **values)
        tx.add(row)
        tx.flush()
        return row.id

    return db.write(work)


def test_a_type_is_found_by_id_and_by_name(db: Database) -> None:
    type_id = add(db, "fast")
    with db.read() as tx:
        assert find_type(tx, VolumeType, own("a"), "fast").id == type_id
        assert find_type(tx, VolumeType, own("a"), type_id).name == "fast"
        with pytest.raises(NotFound, match="nothing"):
            find_type(tx, VolumeType, own("a"), "nothing")


def test_an_id_goes_before_a_name_that_looks_like_it(db: Database) -> None:
    type_id = add(db, "fast")
    add(db, type_id)
    with db.read() as tx:
        assert find_type(tx, VolumeType, everything(), type_id).name == "fast"


def test_a_private_type_is_found_by_those_it_is_shared_with(db: Database) -> None:
    type_id = add(db, "secret", is_public=False)
    db.write(lambda tx: tx.add(VolumeTypeAccess(type_id=type_id, project_id="a")))
    with db.read() as tx:
        assert find_type(tx, VolumeType, own("a"), "secret").id == type_id
        assert find_type(tx, VolumeType, everything(), type_id).id == type_id
        for name in ("secret", type_id):
            with pytest.raises(NotFound):
                find_type(tx, VolumeType, own("b"), name)


def test_the_default_is_the_projects_own_else_the_configured_one(db: Database) -> None:
    conf: Any = SimpleNamespace(default_volume_type="slow")
    slow, fast = add(db, "slow"), add(db, "fast", is_public=False)
    db.write(lambda tx: tx.add(DefaultType(project_id="a", volume_type_id=fast)))
    with db.read() as tx:
        assert default_type(tx, conf, "a").id == fast
        assert default_type(tx, conf, "b").id == slow
        assert default_type(tx, conf, None).id == slow
        with pytest.raises(NotFound, match="gone"):
            default_type(tx, SimpleNamespace(default_volume_type="gone"), "b")  # type: ignore[arg-type]


def test_the_built_in_type_is_made_once_however_many_start(db: Database) -> None:
    threads = [threading.Thread(target=db.write, args=(ensure_default_type,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with db.read() as tx:
        assert [one.name for one in tx.scalars(everything().select(VolumeType))] == [BUILT_IN]
