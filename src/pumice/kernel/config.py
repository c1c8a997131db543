"""Reading a service's configuration: every value checked at the start, every complaint names the option.

Each call of `load` gives a ConfigOpts of its own; the process-wide `cfg.CONF` is never used.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from keystoneauth1 import exceptions, loading
from oslo_config import cfg

from pumice.kernel.options import GROUPS, ServiceOptions, library_groups

LOG = logging.getLogger(__name__)

DEFAULT = "DEFAULT"
SHARED = "backend_defaults"
FILES = "PUMICE_CONFIG_FILE"
"""Environment variable: the configuration's files, separated as those of PATH are."""

# Sections of oslo.messaging, which registers them itself when it is used, and what it has in [DEFAULT].
_MESSAGING = "oslo_messaging_"
_MESSAGING_DEFAULTS = frozenset({"executor_thread_pool_size", "control_exchange", "rpc_ping_enabled"})


class ConfigError(Exception):
    """The configuration is wrong. The message is one line with section, option, value and what is allowed."""


@dataclass(frozen=True, slots=True)
class Backend:
    """One enabled backend: the class (or other maker) of its driver, and the values of its section."""

    name: str
    driver: Any
    section: cfg.ConfigOpts.GroupAttr


def load(
    service: str,
    files: Sequence[Path | str] = (),
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    backends: bool = True,
) -> cfg.ConfigOpts:
    """The configuration of `service` ("block") from `files`; a later file overrides an earlier one.

    :param overrides: section -> option -> value, which win over the files and may name backends of their own
    :param backends: False leaves out the sections of backends, whose drivers not every process needs
    :raises ConfigError: a file cannot be read, a value is refused, a backend's section or driver is missing
    """
    return _Loading(options_of(service), files, overrides or {}, backends=backends).run()


def usual_files(service: str) -> list[Path]:
    """The files that count where none are named: those of the environment, or else /etc/pumice/<service>.conf."""
    if named := os.environ.get(FILES):
        return [Path(file) for file in named.split(os.pathsep)]
    usual = Path(f"/etc/pumice/{service}.conf")
    return [usual] * usual.exists()


def options_of(service: str) -> ServiceOptions:
    described: ServiceOptions = import_module(f"pumice.{service}.options").SERVICE
    return described


def catalog(service: ServiceOptions, plugins: Mapping[str, str] | None = None) -> dict[str, list[cfg.Opt]]:
    """Section -> every option that may stand in it; sections of backends, which have free names, are left out.

    :param plugins: section -> its `auth_type` where that is not `password`
    :raises ConfigError: an `auth_type` is not known
    """
    groups = {group: list(options) for group, options in GROUPS.items()}
    for more in (service.groups, library_groups()):
        for group, options in more.items():
            groups.setdefault(group, []).extend(options)
    for group, options in groups.items():
        if any(option.dest == "auth_type" for option in options):
            plugin = (plugins or {}).get(group, "password")
            try:
                options.extend(loading.get_auth_plugin_conf_options(plugin))
            except exceptions.NoMatchingPlugin as error:
                allowed = ", ".join(sorted(loading.get_available_plugin_names()))
                raise ConfigError(_refused(group, "auth_type", plugin, f"it may be {allowed}")) from error
    return groups


@cache
def drivers(namespace: str) -> Mapping[str, str]:
    """Name -> path of the class, of the installed drivers."""
    return {entry.name: entry.value for entry in entry_points(group=namespace)}


def driver_class(service: ServiceOptions, value: str) -> Any:
    """The class that a driver's name or path stands for.

    :raises LookupError: there is no such driver
    """
    path = drivers(service.namespace).get(value, value)
    module, _, name = path.partition(":") if ":" in path else path.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise LookupError(str(error)) from error


def backends(conf: cfg.ConfigOpts, service: str) -> list[Backend]:
    """The enabled backends in the order of the configuration."""
    described = options_of(service)
    return [
        Backend(name, driver_class(described, conf[name][described.driver]), conf[name])
        for name in conf[described.backends]
    ]


class _Loading:
    """One run of `load`.

    `given` is what the files say, word for word, and `givers` which of them said it last; `known` is every option
    that has been registered, by section.
    """

    def __init__(
        self,
        service: ServiceOptions,
        files: Sequence[Path | str],
        overrides: Mapping[str, Mapping[str, Any]],
        *,
        backends: bool,
    ) -> None:
        self.service = service
        self.files = files
        self.overrides = overrides
        self.backends = backends
        self.conf = cfg.ConfigOpts()
        self.given: dict[str, dict[str, list[str]]] = {}
        self.givers: dict[tuple[str, str], str] = {}
        self.known: dict[str, list[cfg.Opt]] = {}

    def run(self) -> cfg.ConfigOpts:
        conf = self.conf
        self.read()
        # Before any option is registered: some of keystoneauth's are marked as required in sections that need not be.
        conf(args=[], project="pumice", default_config_files=list(map(str, self.files)), default_config_dirs=[])
        plugins = {group: said for group in {*self.given, *self.overrides} if (said := self.said(group, "auth_type"))}
        for group, options in catalog(self.service, plugins).items():
            self.register(group, options)
        conf.set_default("connection", f"sqlite:///$state_path/{self.service.name}.sqlite", group="database")
        conf.set_default("auth_type", "password", group="keystone_authtoken")
        for group in list(self.known):
            self.settle(group)
        for name in conf[self.service.backends] if self.backends else ():
            self.register_backend(name)
            self.settle(name)
        self.check_sections()
        if conf.service_down_time <= conf.report_interval:
            limit = f"it must be greater than report_interval, which is {conf.report_interval}"
            raise ConfigError(_refused(DEFAULT, "service_down_time", conf.service_down_time, limit))
        return conf

    def read(self) -> None:
        for file in self.files:
            if not Path(file).is_file():
                raise ConfigError(f"{file}: there is no such file")
            told: dict[str, dict[str, list[str]]] = {}
            try:
                cfg.ConfigParser(str(file), told).parse()
            except (cfg.Error, cfg.ParseError, OSError, ValueError) as error:
                raise ConfigError(f"{file} cannot be read: {_one_line(error)}") from error
            for group, options in told.items():
                known = self.given.setdefault(group, {})
                for name, values in options.items():
                    known.setdefault(name, []).extend(values)
                    self.givers[group, name] = str(file)

    def said(self, group: str, option: str) -> Any:
        """The value that an override or the last file gives; None where neither does."""
        if option in self.overrides.get(group, {}):
            return self.overrides[group][option]
        values = self.given.get(group, {}).get(option)
        return values[-1] if values else None

    def register(self, group: str, options: Sequence[cfg.Opt]) -> None:
        self.conf.register_opts(options, group=None if group == DEFAULT else group)
        self.known.setdefault(group, []).extend(options)

    def register_backend(self, name: str) -> None:
        listing, key = self.service.backends, self.service.driver
        reason = None
        # A section's name hides the option of [DEFAULT] that is called the same.
        if name in self.known or name == SHARED or any(option.dest == name for option in self.known[DEFAULT]):
            reason = "the name is taken, or listed twice"
        elif name not in self.given and name not in self.overrides:
            reason = f"there is no section [{name}]"
        if reason:
            raise ConfigError(_refused(DEFAULT, listing, name, f"{reason}{self.giver(listing)}"))
        driver = self.driver(name, key)
        own: Sequence[cfg.Opt] = getattr(driver, "options", ())
        taken = {option.dest for option in own}
        options = [*own, *(option for option in self.service.backend_options if option.dest not in taken)]
        self.register(name, options)
        for option in options:
            self.share(name, option)

    def driver(self, name: str, key: str) -> Any:
        """The class of a backend's driver.

        :raises ConfigError: it is not named, or there is none of that name
        """
        group = name if self.said(name, key) else SHARED
        value, giver = str(self.said(group, key) or ""), self.giver(key, group)
        allowed = f"it may be {', '.join(sorted(drivers(self.service.namespace)))} or the path of a class"
        if not value:
            raise ConfigError(f"[{name}] {key} is missing: {allowed}")
        try:
            return driver_class(self.service, value)
        except LookupError as error:
            reason = f", which cannot be loaded: {error}" if "." in value else ""
            raise ConfigError(_refused(group, key, value, f"{allowed}{reason}{giver}")) from error

    def giver(self, option: str, group: str = DEFAULT) -> str:
        """The file that gave an option, as the end of a complaint; empty where none did."""
        file = self.givers.get((group, option))
        return f" (in {file})" if file and option not in self.overrides.get(group, {}) else ""

    def share(self, name: str, option: cfg.Opt) -> None:
        """Make what [backend_defaults] says of an option the default of the backend's section."""
        value = self.said(SHARED, option.dest)
        if value is None:
            return
        try:
            self.conf.set_default(option.dest, option.type(value), group=name)
        except ValueError as error:
            raise ConfigError(_refused(SHARED, option.dest, value, _one_line(error), option)) from error

    def settle(self, group: str) -> None:
        """Apply the section's overrides, and read every option once: oslo.config looks at values only when asked."""
        conf, known = self.conf, {option.dest: option for option in self.known[group]}
        for name, value in self.overrides.get(group, {}).items():
            if name not in known:
                raise ConfigError(f"[{group}] {name} = {value}: there is no such option")
            try:
                conf.set_override(name, value, group=None if group == DEFAULT else group)
            except ValueError as error:
                raise ConfigError(_refused(group, name, value, _one_line(error), known[name])) from error
        section = conf if group == DEFAULT else conf[group]
        for name, option in known.items():
            try:
                section[name]
            except (cfg.Error, ValueError) as error:
                value = next((said for known_as in _names(option) if (said := self.said(group, known_as))), "")
                raise ConfigError(_refused(group, name, value, _one_line(error), option)) from error

    def check_sections(self) -> None:
        """Refuse overrides of sections that do not exist; warn once of everything unknown in the files."""
        for group in self.overrides:
            if group not in self.known and group != SHARED:
                raise ConfigError(
                    f"there is no section [{group}]; enabled backends are listed in {self.service.backends}"
                )
        if unknown := list(self.unknown()):
            LOG.warning("Options that are not known and have no effect: %s", ", ".join(unknown))

    def unknown(self) -> Iterator[str]:
        for group, values in self.given.items():
            if group == SHARED or group.startswith(_MESSAGING):
                continue
            if group not in self.known:
                if not self.backends and group in self.conf[self.service.backends]:
                    continue
                yield f"section [{group}]"
                continue
            names = {name for option in self.known[group] for name in _names(option)}
            names |= _MESSAGING_DEFAULTS if group == DEFAULT else set()
            yield from (f"[{group}] {name}" for name in values if name not in names)


def _names(option: cfg.Opt) -> set[str]:
    """Every name by which a file may give the option, old ones included."""
    return {option.name, option.dest, *(old.name for old in option.deprecated_opts if old.name)}


def _refused(group: str, name: str, value: Any, why: str, option: cfg.Opt | None = None) -> str:
    shown = "***" if option is not None and option.secret else value
    return f"[{group}] {name} = {shown} is refused: {why}"


def _one_line(error: Exception) -> str:
    """oslo.config's texts, without where in its own structures a value came from."""
    text = " ".join(str(error).split())
    return text.partition(" is not valid: ")[2] or text
