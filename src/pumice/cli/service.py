"""What commands about one service share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from oslo_config import cfg

from pumice.kernel import config

service_option = click.option(
    "--service",
    type=click.Choice(["block", "share"]),
    default="block",
    show_default=True,
    help="The service that is meant.",
)


def load(service: str, files: Sequence[Path], *, backends: bool = True) -> cfg.ConfigOpts:
    """The service's configuration from `files`, or from its usual place if there are none."""
    return config.load(service, files or config.usual_files(service), backends=backends)
