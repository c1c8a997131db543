from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from pumice.block.backends import exports_lock
from pumice.block.drivers.base import Connector, Export, VolumeRef
from pumice.kernel.db.base import new_id
from tests.support.blockservice import Block
from tests.support.waiting import LONG, eventually

CONNECTOR = {"host": "h", "initiator": "iqn.2026-01.example:h"}


def test_exports_that_are_slow_to_come_back_keep_nobody_from_starting(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    kept = {"volume_driver": "simulated", "simulated_directory": "sim", "simulated_script": str(script)}
    backends: dict[str, dict[str, Any]] = {"sim": kept}
    with Block(tmp_path, backends) as block:
        volume = block.volume()
        body = {"attachment": {"volume_uuid": volume, "connector": CONNECTOR}}
        export = block.call("POST", "/attachments", body).json["attachment"]["id"]
        block.driver.lose(export)
    script.write_text(json.dumps({"connect": {"hang": True}}))
    begin = time.monotonic()
    with Block(tmp_path, backends) as block:
        assert time.monotonic() - begin < LONG
        block.volume()
        assert not block.driver.inventory().exports
        block.driver.release()
        eventually(lambda: block.driver.inventory().exports == {export})


def test_an_export_that_no_row_asks_for_is_removed(tmp_path: Path) -> None:
    with Block(tmp_path) as block:
        volume = block.volume()
        body = {"attachment": {"volume_uuid": volume, "connector": CONNECTOR}}
        kept = block.call("POST", "/attachments", body).json["attachment"]["id"]
        stray = Export(id=new_id(), volume=VolumeRef(id=volume, size=1, pool=""), connector=Connector(CONNECTOR))
        block.driver.connect(stray)
        assert block.driver.exports() == {kept: volume, stray.id: volume}
        with block.service.locks.hold(exports_lock(volume)):
            block.service.restore_exports()
        assert stray.id in block.driver.exports()
        block.service.restore_exports()
        assert block.driver.exports() == {kept: volume}


def test_what_a_failed_connect_left_is_removed(tmp_path: Path) -> None:
    with Block(tmp_path) as block:
        volume = block.volume()
        block.driver.dial("connect", fail="its answer is lost", after=True)
        block.driver.dial("disconnect", fail="not now")
        body = {"attachment": {"volume_uuid": volume, "connector": CONNECTOR}}
        assert block.call("POST", "/attachments", body).status_code == 500
        assert block.driver.exports()
        block.driver.undial()
        block.service.restore_exports()
        assert block.driver.exports() == {}
        assert block.all_wrong() == []
