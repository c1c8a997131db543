from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.running import Member, Pumice


@pytest.fixture(scope="session")
def pumice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pumice]:
    with Pumice(tmp_path_factory.mktemp("acceptance")) as running:
        yield running


@pytest.fixture
def member(pumice: Pumice) -> Member:
    return Member(pumice)
