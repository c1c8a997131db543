from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pumice.kernel import config
from pumice.kernel.auth.context import RequestContext
from pumice.kernel.logging import logged, mask, setup
from tests.support.waiting import LONG

CONTEXT = RequestContext(user_id="user-1", project_id="project-1", request_id="req-1", global_request_id="req-g")


@pytest.fixture
def lines(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    root = logging.getLogger()
    before, level, hook = root.handlers[:], root.level, sys.excepthook
    levels = {name: logging.getLogger(name).level for name in list(logging.root.manager.loggerDict)}
    file = tmp_path / "pumice.log"
    use_json = getattr(request, "param", False)
    setup(config.load("block", overrides={"DEFAULT": {"log_file": str(file), "use_json": use_json}}))
    yield file
    for handler in set(root.handlers) - set(before):
        handler.close()
    root.handlers[:] = before
    root.setLevel(level)
    for name, was in levels.items():
        logging.getLogger(name).setLevel(was)
    sys.excepthook = hook


def test_lines_carry_ids_user_and_project(lines: Path) -> None:
    with logged(CONTEXT):
        logging.getLogger("pumice.test").info("inside %d", 1)
    logging.getLogger("pumice.test").info("outside")
    inside, outside = lines.read_text().splitlines()
    for part in ("req-1", "req-g", "user-1 project-1", "INFO pumice.test", "inside 1"):
        assert part in inside
    assert "req-1" not in outside


def test_each_thread_has_its_own_context(lines: Path) -> None:
    def work(number: int, ready: threading.Barrier) -> None:
        with logged(RequestContext(request_id=f"req-{number}", user_id="u", project_id="p")):
            ready.wait(LONG)
            logging.getLogger("pumice.test").info("from %d", number)

    ready = threading.Barrier(8)
    threads = [threading.Thread(target=work, args=(number, ready)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = lines.read_text().splitlines()
    assert len(found) == 8
    for number in range(8):
        assert next(line for line in found if line.endswith(f"from {number}")).count(f"req-{number} ") == 1


@pytest.mark.parametrize("lines", [True], indirect=True)
def test_json_lines(lines: Path) -> None:
    with logged(CONTEXT):
        logging.getLogger("pumice.test").warning("text with password=hush")
        try:
            raise ValueError("broken")
        except ValueError:
            logging.getLogger("pumice.test").exception("failed")
    first, second = (json.loads(line) for line in lines.read_text().splitlines())
    assert first["message"].startswith("text with password")
    assert "hush" not in json.dumps(first)
    assert first["context"]["request_id"] == "req-1"
    assert first["context"]["project"] == "project-1"
    assert "ValueError: broken" in json.dumps(second)


@pytest.mark.parametrize(
    "text",
    [
        "connecting to rabbit://guest:hush@127.0.0.1:5672/", "{'auth_password': 'hush', 'x': 1}",
        "X-Auth-Token: hush", '{"adminPass": "hush"}', "mysql+pymysql://u:hush@h/db", "password = hush",
    ],
)  # fmt: skip
def test_secrets_are_masked(text: str) -> None:
    assert "hush" not in mask(text)
    assert "***" in mask(text)


def test_plain_text_stays() -> None:
    assert mask("volume 5 of http://host/v3 is available") == "volume 5 of http://host/v3 is available"
