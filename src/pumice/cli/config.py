"""`pumice config`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from oslo_config import cfg

from pumice.cli.service import load, service_option
from pumice.kernel.config import DEFAULT, backends, catalog, driver_class, drivers, options_of
from pumice.kernel.logging import mask


@click.group()
def config() -> None:
    """Print a sample configuration, or what is in force."""


@config.command()
@service_option
def sample(service: str) -> None:
    """Print every option with its meaning and default, commented out."""
    described = options_of(service)
    for group, options in catalog(described).items():
        click.echo("\n".join(_section(group, options)))
    for name in sorted(drivers(described.namespace)):
        driver = driver_class(described, name)
        own = {option.dest: option for option in (*described.backend_options, *driver.options)}
        click.echo(
            f"# A backend with the driver {name}; the section's name is free, and listed in {described.backends}."
        )
        click.echo("\n".join(_section(f"my_{name}", own.values(), mark="#")))


@config.command()
@service_option
@click.pass_obj
def show(files: Sequence[Path], service: str) -> None:
    """Print the values in force, secrets masked."""
    conf = load(service, files)
    groups = catalog(options_of(service))
    sections: dict[str, Any] = {group: conf if group == DEFAULT else conf[group] for group in groups}
    secret = {(group, option.dest) for group, options in groups.items() for option in options if option.secret}
    for backend in backends(conf, service):
        sections[backend.name] = backend.section
        secret |= {(backend.name, option.dest) for option in backend.driver.options if option.secret}
    for group, section in sections.items():
        names = {option.dest for option in groups[group]} if group in groups else set(section)
        click.echo(f"[{group}]")
        for name in sorted(names):
            value = section[name]
            shown = "***" if value and (group, name) in secret else mask(_text(value))
            click.echo(f"{name} = {shown}")
        click.echo()


def _section(group: str, options: Iterable[cfg.Opt], mark: str = "") -> Iterator[str]:
    yield f"{mark}[{group}]\n"
    for option in options:
        if option.deprecated_for_removal:
            continue
        yield textwrap.fill(option.help or "", 100, initial_indent="# ", subsequent_indent="# ") if option.help else "#"
        if limits := _limits(option.type):
            yield f"# {limits}"
        default = option.sample_default if option.sample_default is not None else option.default
        yield f"#{option.name} = {_text(default)}\n"


def _limits(kind: Any) -> str:
    choices = getattr(kind, "choices", None)
    if choices:
        return "One of: " + ", ".join(str(choice) for choice in choices)
    bounds = [(word, getattr(kind, name, None)) for word, name in (("at least", "min"), ("at most", "max"))]
    said = [f"{word} {bound}" for word, bound in bounds if bound is not None]
    return f"A number, {' and '.join(said)}." if said else ""


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
