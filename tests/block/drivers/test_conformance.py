from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from pumice.block.drivers.base import Driver
from pumice.block.drivers.file import FileDriver
from pumice.block.drivers.simulated import SimulatedDriver
from tests.block.drivers.conformance import Conformance
from tests.block.drivers.conftest import MakeDriver
from tests.support.plaindriver import PlainDriver
from tests.support.sections import section
from tests.support.tgtd import TgtdServer


@pytest.mark.real
class TestFile(Conformance):
    @pytest.fixture
    def driver(self, make_driver: MakeDriver, filesystem: Path, tgtd: TgtdServer) -> FileDriver:
        return make_driver(filesystem / uuid.uuid4().hex, **tgtd.options)


class TestSimulated(Conformance):
    @pytest.fixture(params=[SimulatedDriver, PlainDriver])
    def driver(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Driver]:
        made = request.param(section(request.param), name="sim", state_dir=tmp_path)
        made.start()
        yield made
        made.stop()
