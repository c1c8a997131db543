"""The `pumice` command. Its parts are imported when they are asked for, so that help and completion are quick."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click

# Command -> where it is, and its line in the help.
COMMANDS = {
    "up": ("pumice.standalone.command:up", "Run everything on this machine until Ctrl-C."),
    "block": ("pumice.cli.processes:block", "Run a process of the Block Storage service."),
    "share": ("pumice.cli.processes:share", "Run a process of the Shared File Systems service."),
    "config": ("pumice.cli.config:config", "Print a sample configuration, or what is in force."),
    "policy": ("pumice.cli.policy:policy", "Print the policy rules."),
    "db": ("pumice.cli.db:db", "Bring the database to the installed version."),
    "doctor": ("pumice.cli.doctor:doctor", "Check a deployment, and say what to mend."),
    "quota": ("pumice.cli.quota:quota", "Hold the quota counters against the rows."),
    "operations": ("pumice.cli.operations:operations", "Look at what the service is doing."),
}


class Misconfigured(click.ClickException):
    exit_code = 2


class Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            # Imported here, because this is half of the command's start.
            from pumice.kernel.config import ConfigError  # noqa: PLC0415
            from pumice.kernel.db.schema import SchemaError  # noqa: PLC0415

            if not isinstance(error, ConfigError | SchemaError):
                raise
            raise Misconfigured(str(error)) from error


@click.group(cls=Commands)
@click.option(
    "--config-file",
    "config_files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="File with the service's configuration; may be given several times. Default: what PUMICE_CONFIG_FILE names, "
    "or else /etc/pumice/<service>.conf.",
)
@click.version_option(package_name="pumice")
@click.pass_context
def main(ctx: click.Context, config_files: tuple[Path, ...]) -> None:
    """Block storage and shared file systems for clouds."""
    ctx.obj = config_files
