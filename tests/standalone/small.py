"""A service with nothing behind it, and `pumice up` with it: `python -m tests.standalone.small OPTIONS`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import requests

from pumice.standalone import command

PUMICE = [str(Path(sys.executable).with_name("pumice")), "up"]


class SmallService:
    """Answers every request with what it was called for; notes calls."""

    def __init__(self, files):
        self.files = files
        self.calls = []

    def start(self):
        self.calls.append("start")

    def stop(self):
        self.calls.append("stop")

    def restore_exports(self):
        self.calls.append("restore")

    def unserved(self):
        return {}

    def wsgi(self):
        def application(environ, start_response):
            start_response("200 OK", [("Content-Type", "application/json")])
            return [json.dumps({"path": environ["PATH_INFO"], "token": environ.get("HTTP_X_AUTH_TOKEN", "")}).encode()]

        return application


def await_answer(settings, process):
    deadline = time.monotonic() + 180
    while True:
        try:
            return requests.get(f"http://127.0.0.1:{settings.port}/v3", timeout=30)
        except requests.ConnectionError:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)


def words_until(last, process):
    """What it says up to a line with this word."""
    said = ""
    while last not in said:
        line = process.stdout.readline()
        assert line, (said, process.communicate())
        said += line
    return said


if __name__ == "__main__":
    command.block_service = SmallService
    command.share_service = None
    command.up()
