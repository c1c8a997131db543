from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.running import Member, Pumice, ShareMember


@pytest.fixture(scope="session")
def pumice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pumice]:
    with Pumice(tmp_path_factory.mktemp("acceptance")) as running:
        yield running


@pytest.fixture
def member(pumice: Pumice) -> Iterator[Member]:
    """The demo project's member; what the project holds ends with the test."""
    member = Member(pumice)
    yield member
    member.clear()


@pytest.fixture
def sharer(pumice: Pumice) -> Iterator[ShareMember]:
    """The same person with shares."""
    member = ShareMember(pumice)
    yield member
    member.clear()
