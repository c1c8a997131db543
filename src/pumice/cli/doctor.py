"""`pumice doctor`."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from pumice.cli.checks import CHECKS, Case, Finding, wrong
from pumice.cli.service import load, service_option
from pumice.kernel.logging import mask

MENDS = {
    "database": "Start the server, or set [database] connection to where it is.",
    "coordination": "Start the lock service, or set [coordination] backend_url to where it is.",
    "keystone": "Start Keystone, or set auth_url of [keystone_authtoken] to where it is.",
}
"""What helps where a check cannot even ask."""


@click.command()
@service_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def doctor(files: Sequence[Path], service: str, *, as_json: bool) -> None:
    """Check a deployment, and say what to mend; exit 1 when something is wrong.

    It looks at the database and its schema, message bus, lock service, Keystone and its catalog, workers, this file's
    backends and what they export, and the clocks. It changes nothing.
    """
    for noisy in ("oslo.messaging", "oslo_messaging", "keystoneauth", "keystonemiddleware", "amqp", "kombu"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
    found = list(examine(Case(service, load(service, files))))
    if as_json:
        click.echo(json.dumps([{"check": name, **dataclasses.asdict(one)} for name, one in found], indent=2))
    else:
        for name, one in found:
            click.echo(f"{_mark(one)} {name:13}{one.text}")
            if one.mend:
                click.echo(f"{'':22}→ {one.mend}")
    if any(one.wrong for _, one in found):
        raise SystemExit(1)


def examine(case: Case) -> Iterator[tuple[str, Finding]]:
    """The findings of all checks, with the name of the check."""
    missing: set[str] = set()
    for name, check in CHECKS.items():
        if missing & NEEDS.get(name, set()):
            continue  # said already
        try:
            for finding in check(case):
                missing |= {name} if finding.wrong else set()
                yield name, finding
        except Exception as error:  # noqa: BLE001 - whatever a library raises is a finding
            missing.add(name)
            yield name, wrong(f"It cannot be asked: {_reason(error)}", MENDS.get(name, "See above."))


NEEDS = {"schema": {"database"}, "workers": {"database", "schema"}, "backends": {"database"}, "catalog": {"keystone"}}
"""Checks that say nothing of their own when an earlier one has found something wrong."""


def _mark(finding: Finding) -> str:
    if finding.wrong:
        return click.style("WRONG  ", fg="red")
    return click.style("NOTE   ", fg="yellow") if finding.mend else click.style("ok     ", fg="green")


def _reason(error: Exception) -> str:
    words = " ".join(str(error).split())
    for rest in (" (Background on this error", ": HTTPConnectionPool", ": HTTPSConnectionPool"):
        words = words.partition(rest)[0]
    return mask(words[:300]) or type(error).__name__
