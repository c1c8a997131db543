from __future__ import annotations

from pathlib import Path

import pytest
from oslo_db import exception as db_errors

from pumice.kernel.db.base import new_id
from tests.kernel.things import Thing, database


def test_errors_do_not_tell_values(tmp_path: Path) -> None:
    db = database(tmp_path)
    with pytest.raises(db_errors.DBError) as caught:
        db.write(lambda tx: tx.add(Thing(id=new_id(), status="plain", colour="hush")))
    assert "things.project_id" in str(caught.value)
    assert "hush" not in str(caught.value)
    db.close()
