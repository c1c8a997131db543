"""The web server of `pumice block api` and `pumice share api`: gunicorn, with threads.

One process makes the service and forks the others, which share its memory; connections and threads each of them makes
for itself. SIGTERM closes the port and lets requests end for `graceful_shutdown_timeout`
seconds; SIGHUP reads the files again and replaces the children one by one with none of their requests lost, and keeps
those that run when the files are wrong.
"""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger
from oslo_config import cfg
from oslo_db.exception import DBConnectionError

from pumice.kernel import logging as kernel_logging
from pumice.kernel import metrics
from pumice.kernel.config import ConfigError, options_of
from pumice.kernel.db.schema import SchemaError
from pumice.kernel.processes import once_reachable, reload
from pumice.kernel.serving import BackendService

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

LOG = logging.getLogger(__name__)

KEEP_ALIVE_SECONDS = 75
"""Longer than proxies keep connections, so that it is they who close them."""
MEMORY = Path("/dev/shm")  # noqa: S108
"""For beats and counts, which must not wait for a disk."""
LATEST_SIGN = 60
"""Seconds without a sign of life after which a child is killed and replaced."""


def serve(name: str, load: Callable[[], cfg.ConfigOpts], make: Callable[[cfg.ConfigOpts], BackendService]) -> None:
    """Serve the API of a service until a signal ends it.

    :param name: "block" or "share"
    :param load: reads the configuration
    """
    server = _Server(name, load, make)
    with metrics.shared(MEMORY):
        server.run()


class _Log(Logger):  # type: ignore[misc]
    """gunicorn's own lines go where the service's go."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


class _Server(BaseApplication):  # type: ignore[misc]
    def __init__(
        self, name: str, load: Callable[[], cfg.ConfigOpts], make: Callable[[cfg.ConfigOpts], BackendService]
    ) -> None:
        self._name = name
        self._load = load
        self._make = make
        self.conf = load()
        kernel_logging.setup(self.conf, f"{name}-api")
        super().__init__()

    def load_config(self) -> None:
        conf, prefix = self.conf, options_of(self._name).api
        host, port = conf[f"{prefix}_listen"], conf[f"{prefix}_listen_port"]
        settings = {
            "bind": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
            "workers": conf[f"{prefix}_workers"],
            "threads": conf.api_threads,
            "worker_class": "gthread",
            "preload_app": True,
            "keepalive": KEEP_ALIVE_SECONDS,
            "timeout": LATEST_SIGN,
            "graceful_timeout": conf.graceful_shutdown_timeout,
            "proc_name": f"pumice-{self._name}-api",
            "worker_tmp_dir": str(MEMORY),
            "logger_class": _Log,
            "control_socket_disable": True,
            "post_worker_init": _begin,
            "worker_exit": _end,
        }
        for setting, value in settings.items():
            self.cfg.set(setting, value)

    def load(self) -> WSGIApplication:
        self.service, app = once_reachable(lambda: self._built(self.conf), time.sleep)
        return app

    def _built(self, conf: cfg.ConfigOpts) -> tuple[BackendService, WSGIApplication]:
        service = self._make(conf)
        app = service.wsgi()
        gc.collect()
        gc.freeze()  # or every collection in a child would write to, and so copy, what it shares with the others
        return service, app

    def reload(self) -> None:
        conf = reload(self._load, self.conf, f"{self._name}-api")
        try:
            self.service, self.callable = self._built(conf)
        except (ConfigError, SchemaError, DBConnectionError) as error:
            LOG.error("what was in force stays: %s", error)
        else:
            self.conf = conf
        super().reload()


def _begin(worker: Any) -> None:
    service: BackendService = worker.app.service
    once_reachable(lambda: service.connect(()), time.sleep)
    service.start(())


def _end(_server: Any, worker: Any) -> None:
    worker.app.service.stop()
