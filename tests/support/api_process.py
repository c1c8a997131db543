"""The API of a service as `pumice block api` serves it, with callers named by a header instead of a token.

    PUMICE_CONFIG_FILE=block.conf python -m tests.support.api_process block

So no Keystone is needed (tests.support.identity).
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from oslo_config import cfg

from pumice.cli.service import load
from pumice.kernel import webserver
from tests.support.identity import Identity


def main(service: str) -> None:
    made: Any = import_module(f"pumice.{service}.service").SERVICE

    def make(conf: cfg.ConfigOpts) -> Any:
        one = made(conf)
        inner = one.wsgi
        one.wsgi = lambda: inner(lambda app: Identity(app, one.policy))
        return one

    webserver.serve(service, lambda: load(service, (), backends=False), make)


if __name__ == "__main__":
    main(sys.argv[1])
