"""A service with nothing behind it, and `pumice up` with it: `python -m tests.standalone.small OPTIONS`."""

from __future__ import annotations

import json

from pumice.standalone import command


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

    def wsgi(self):
        def application(environ, start_response):
            start_response("200 OK", [("Content-Type", "application/json")])
            return [json.dumps({"path": environ["PATH_INFO"], "token": environ.get("HTTP_X_AUTH_TOKEN", "")}).encode()]

        return application


if __name__ == "__main__":
    command.block_service = SmallService
    command.up()
