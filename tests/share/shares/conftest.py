from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.shareservice import Shares


@pytest.fixture
def shares(tmp_path: Path) -> Iterator[Shares]:
    with Shares(tmp_path) as made:
        yield made
        made.driver.undial()
        assert made.all_wrong() == []
