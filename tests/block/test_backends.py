from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from tests.support.blockservice import Block

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
        assert time.monotonic() - begin < 5
        block.volume()
        assert not block.driver.inventory().exports
        block.driver.release()
        end = time.monotonic() + 10
        while block.driver.inventory().exports != {export}:
            assert time.monotonic() < end
            time.sleep(0.02)
