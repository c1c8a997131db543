"""Sections of backends, as drivers get them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from oslo_config import cfg


class HasOptions(Protocol):
    @property
    def options(self) -> Sequence[cfg.Opt]: ...


def section(driver: HasOptions, **values: Any) -> cfg.ConfigOpts.GroupAttr:
    """A backend's section with these values, and the driver's defaults."""
    conf = cfg.ConfigOpts()
    conf.register_opts(driver.options, group="backend")
    conf([], default_config_files=[], default_config_dirs=[])
    for name, value in values.items():
        conf.set_override(name, value, group="backend")
    return conf.backend
