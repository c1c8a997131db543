from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kernel.api.toy import Toy


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[Toy]:
    service = Toy(tmp_path)
    yield service
    service.db.close()
