"""`pumice block` and `pumice share`: the processes of a service, each on its own, any number of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from oslo_config import cfg

from pumice.cli.service import load
from pumice.kernel.processes import Address, work
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
        from pumice.kernel import webserver  # noqa: PLC0415 - the others need none

        webserver.serve(service, lambda: load(service, files, backends=False), _class(service))

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

    return group


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
