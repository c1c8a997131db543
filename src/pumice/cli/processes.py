"""`pumice block` and `pumice share`: the processes of a service, each on its own, any number of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from oslo_config import cfg
from sqlalchemy.orm import configure_mappers

from pumice.cli.service import load
from pumice.kernel import logging as kernel_logging
from pumice.kernel.family import Family
from pumice.kernel.processes import Address, once_reachable, work
from pumice.kernel.scheduling.placing import SCHEDULER
from pumice.kernel.serving import BackendService


class _Address(click.ParamType["Address"]):
    name = "HOST:PORT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        host, _, port = str(value).rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            self.fail(f"{value!r} is no address: HOST:PORT is wanted, such as 127.0.0.1:8780", param, ctx)
        return host.strip("[]"), int(port)


_health = click.option(
    "--health",
    type=_Address(),
    help="Where GET /healthcheck, /healthcheck/ready and /metrics are answered. Default: nowhere.",
)


def _group(service: str, part: str, what: str) -> click.Group:
    @click.group(service, help=f"Run a process of {what} until a signal ends it.")
    def group() -> None:
        pass

    @group.command()
    @click.pass_obj
    def api(files: Sequence[Path]) -> None:
        """Answer requests. SIGHUP: with the files as they are now."""
        _api(service, files)

    @group.command()
    @_health
    @click.pass_obj
    def scheduler(files: Sequence[Path], health: Address | None) -> None:
        """Choose backends for what is created. SIGHUP: log as the files say now."""
        _work(service, files, SCHEDULER, health)

    @group.command(part)
    @_health
    @click.pass_obj
    def worker(files: Sequence[Path], health: Address | None) -> None:
        """Do the work of the backends that are enabled. SIGHUP: log as the files say now."""
        _work(service, files, part, health)

    @group.command()
    @click.argument("parts", nargs=-1, type=_Part(("api", SCHEDULER, part)))
    @click.pass_obj
    def run(files: Sequence[Path], parts: Sequence[tuple[str, Address | None]]) -> None:
        """Run several of them as one family, which takes less memory than each by itself.

        PARTS are `api`, `scheduler` and the worker, each of the latter two perhaps with its --health:
        `scheduler=127.0.0.1:8777`. Default: all.
        """
        members = dict(parts) or dict.fromkeys(("api", SCHEDULER, part))
        conf = load(service, files, backends=False)
        kernel_logging.setup(conf, f"{service}-run")
        _preload(service, conf)
        Family({name: _member(service, files, name, health) for name, health in members.items()}).run()

    return group


class _Part(click.ParamType[tuple[str, Address | None]]):
    name = "PART"

    def __init__(self, known: Sequence[str]) -> None:
        self._known = known

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Address | None]:
        part, _, address = str(value).partition("=")
        if part not in self._known:
            self.fail(f"{part!r} is no part: {', '.join(self._known)} are", param, ctx)
        if address and part == "api":
            self.fail("the API answers supervisors where it answers all others", param, ctx)
        return part, _Address().convert(address, param, ctx) if address else None


def _member(service: str, files: Sequence[Path], part: str, health: Address | None) -> Callable[[], None]:
    if part == "api":
        return lambda: _api(service, files)
    return lambda: _work(service, files, part, health)


def _preload(service: str, conf: cfg.ConfigOpts) -> None:
    """Load all that members share: what each of them will make is made once here, and left."""
    for module in ("pumice.kernel.webserver", "pumice.kernel.api.front", f"pumice.{service}.routes"):
        import_module(module)
    once_reachable(lambda: _class(service)(conf), time.sleep)
    configure_mappers()


def _api(service: str, files: Sequence[Path]) -> None:
    from pumice.kernel import webserver  # noqa: PLC0415 - the others need none

    webserver.serve(service, lambda: load(service, files, backends=False), _class(service))


def _work(service: str, files: Sequence[Path], part: str, health: Address | None) -> None:
    try:
        work(
            lambda: load(service, files, backends=part != SCHEDULER),
            _class(service),
            {part},
            name=f"{service}-{part}",
            health=health,
        )
    except OSError as error:
        if health is None or error.filename:
            raise
        raise click.ClickException(f"--health {health[0]}:{health[1]}: {error.strerror}") from error


def _class(service: str) -> Callable[[cfg.ConfigOpts], BackendService]:
    found: Callable[[cfg.ConfigOpts], BackendService] = import_module(f"pumice.{service}.service").SERVICE
    return found


block = _group("block", "volume", "the Block Storage service")
share = _group("share", "share", "the Shared File Systems service")
