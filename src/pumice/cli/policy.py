"""`pumice policy`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import click
from oslo_policy import policy as oslo

from pumice.cli.service import load, service_option
from pumice.kernel.auth import policy as rules


@click.group()
def policy() -> None:
    """Print the policy rules."""


@policy.command()
@service_option
def sample(service: str) -> None:
    """Print a policy.yaml with every rule commented out at its default."""
    click.echo(rules.sample(_defaults(service)))


@policy.command("list")
@service_option
@click.pass_obj
def list_rules(files: Sequence[Path], service: str) -> None:
    """Print each rule as it is in force; `*` marks what differs from the default."""
    for default, check in rules.Policy(load(service, files), _defaults(service)).effective():
        mark = " " if check == str(default.check) else "*"
        click.echo(f"{mark} {default.name}: {check}")


def _defaults(service: str) -> list[oslo.RuleDefault]:
    api = import_module(f"pumice.{service}.routes").API
    return rules.defaults_of(api.table, api.rules, api.helpers, api.helper_of)
