from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pumice.block.quotas import resources
from pumice.block.types.model import VolumeType
from pumice.kernel.db.base import Base
from pumice.kernel.db.engine import Database
from pumice.kernel.errors import OverLimit
from pumice.kernel.quotas import Quotas
from tests.support.databases import url_of


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    db = Database(url_of(tmp_path / "quotas.sqlite"))
    Base.metadata.create_all(db.engine)
    yield db
    db.close()


def test_a_volume_counts_for_its_project_and_its_type() -> None:
    assert resources.volume_charge(3, "t") == {"volumes": 1, "gigabytes": 3, "volumes:t": 1, "gigabytes:t": 3}
    assert resources.volume_charge(3, None, -1) == {"volumes": -1, "gigabytes": -3}
    assert resources.growth_charge(2, "t") == {"gigabytes": 2, "gigabytes:t": 2}


def test_a_snapshot_counts_for_its_project_and_its_type() -> None:
    assert resources.snapshot_charge(3, "t", -1) == {
        "snapshots": -1,
        "gigabytes": -3,
        "snapshots:t": -1,
        "gigabytes:t": -3,
    }


def test_the_api_names_types_and_the_tables_their_ids() -> None:
    known = resources.keys([VolumeType(id="1", name="fast"), VolumeType(id="2", name="a_b")])
    assert known["volumes"] == "volumes"
    assert known["volumes_fast"] == "volumes:1"
    assert known["snapshots_a_b"] == "snapshots:2"
    assert len(known) == 7 + 6
    assert set(resources.type_keys("1")) == {key for key in known.values() if key.endswith(":1")}


@pytest.mark.parametrize(("limit", "size", "fits"), [(-1, 10**6, True), (5, 5, True), (5, 6, False), (0, 1, False)])
def test_one_volume_has_a_bound_of_its_own(db: Database, limit: int, size: int, fits: bool) -> None:
    quotas = Quotas({resources.PER_VOLUME: limit})

    def check(tx: Any) -> None:
        resources.check_volume_size(tx, quotas, "p", size)

    if fits:
        db.write(check)
    else:
        with pytest.raises(OverLimit, match=f"{size} GiB"):
            db.write(check)
