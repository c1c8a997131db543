"""`pumice quota`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path

import click

from pumice.cli.service import load, service_option
from pumice.kernel.db.engine import Database


@click.group()
def quota() -> None:
    """Hold the quota counters against the rows."""


@quota.command()
@service_option
@click.pass_obj
def check(files: Sequence[Path], service: str) -> None:
    """Say where quotas, claims on pools or statuses are not what the rows say; exit 1 if anywhere.

    Everything is read in one snapshot, so it may be asked while the service works.
    """
    with closing(Database(load(service, files).database.connection)) as db, db.read(snapshot=True) as tx:
        wrong = import_module(f"pumice.{service}.invariants").check(tx)
    for line in wrong:
        click.echo(line)
    if wrong:
        raise SystemExit(1)
    click.echo("All counters are what the rows say.")
