"""oslo.messaging and tooz on plain threads, and on a configuration that is not the process's.

Both import eventlet wherever it is installed, which warns that it is deprecated; oslo.service, below
oslo.messaging, takes it as its back end unless told otherwise first.
"""

from __future__ import annotations

import warnings

from oslo_config import cfg

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from oslo_service import backend

    backend.init_backend(backend.BackendType.THREADING)
    import oslo_messaging
    from oslo_messaging._metrics import client as metrics
    from oslo_messaging._tracing import client as tracing
    from tooz import coordination
    from tooz.drivers.file import FileLock

__all__ = ["FileLock", "coordination", "messaging_conf", "oslo_messaging"]


def messaging_conf(conf: cfg.ConfigOpts) -> cfg.ConfigOpts:
    """A ConfigOpts for one oslo.messaging transport, on the files that `conf` was read from.

    Its own, because oslo.messaging registers options as it goes along whose names we have too, with other
    defaults (`transport_url`).
    """
    own = cfg.ConfigOpts()
    own(args=[], project="pumice", default_config_files=list(conf.config_file), default_config_dirs=[])
    # oslo.messaging registers these on the global configuration only. Without them, a server on any other
    # one swallows every message, silently.
    own.register_opts(tracing.oslo_messaging_tracing, group="oslo_messaging_tracing")
    own.register_opts(metrics.oslo_messaging_metrics, group="oslo_messaging_metrics")
    return own
