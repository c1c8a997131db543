from __future__ import annotations

import os
from pathlib import Path

import pytest

from pumice.kernel.operations.leases import Life

SOMEBODY = 65534  # as the user that schedulers run as, who owns the state directory


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_a_worker_of_root_makes_belongs_to_the_owner_of_the_state_directory(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    os.chown(state, SOMEBODY, SOMEBODY)
    life = Life(state / "workers")
    try:
        made = [state / "workers", *(state / "workers").iterdir()]
        assert len(made) == 4  # the directory, its id, the lock of that, and the life's own
        assert {(path.stat().st_uid, path.stat().st_gid) for path in made} == {(SOMEBODY, SOMEBODY)}
    finally:
        life.end()
