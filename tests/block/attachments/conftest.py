from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.block.attachments.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path, rpc_response_timeout=60) as made:
        yield made
