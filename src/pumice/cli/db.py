"""`pumice db`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click

from pumice.cli.service import load, service_option
from pumice.kernel.db import migrations, schema
from pumice.kernel.db.engine import Database


@click.group()
def db() -> None:
    """Bring the database to the installed version."""


@db.command()
@service_option
@click.pass_obj
def upgrade(files: Sequence[Path], service: str) -> None:
    """Bring the schema to the newest version and print it; safe to run again."""
    with closing(_database(files, service)) as database:
        click.echo(migrations.upgrade(database, service))


@db.command()
@service_option
@click.pass_obj
def version(files: Sequence[Path], service: str) -> None:
    """Print the schema's version, and the one that is needed."""
    with closing(_database(files, service)) as database:
        click.echo(f"{schema.current(database) or 'empty'} (needed: {schema.newest(service)})")


def _database(files: Sequence[Path], service: str) -> Database:
    return Database(load(service, files).database.connection)
