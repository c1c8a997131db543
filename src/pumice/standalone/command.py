"""The command `pumice up`."""

from __future__ import annotations

import ipaddress
import logging
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Collection
from pathlib import Path
from types import FrameType

import click
import psutil
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from pumice.kernel.config import ConfigError

from .clouds import USER_FILE
from .directory import default_data_directory
from .errors import StandaloneError
from .up import Settings, Standalone, block_service, share_service

LOG = logging.getLogger(__name__)

PORT = click.IntRange(1, 65535)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _address(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    try:
        address = ipaddress.IPv4Address(value)
    except ValueError:
        raise click.BadParameter(f"{value} is no IPv4 address") from None
    if address.is_unspecified:
        raise click.BadParameter(f"{value} is no address that clients could be told: name one of this machine's")
    return str(address)


@click.command("up")
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False), help="Where everything is kept.")
@click.option("--host", callback=_address, default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=PORT, default=8776, show_default=True, help="Port of the Block Storage API.")
@click.option("--share-port", type=PORT, default=8786, show_default=True, help="Port of the Shared File Systems API.")
@click.option("--keystone-port", type=PORT, default=5000, show_default=True, help="Port of Keystone.")
@click.option("--iscsi-port", type=PORT, help="Port of iSCSI; else 3260 or the next free one.")
@click.option("--storage-size", type=click.IntRange(1), metavar="GIB", help="Size of the storage; it can grow later.")
@click.option("--cloud", default="pumice", show_default=True, help="Name in clouds.yaml.")
@click.option("--user-clouds/--no-user-clouds", default=True, help=f"Whether to write to {USER_FILE} too.")
def up(
    *,
    data_dir: Path | None,
    host: str,
    port: int,
    share_port: int,
    keystone_port: int,
    iscsi_port: int | None,
    storage_size: int | None,
    cloud: str,
    user_clouds: bool,
) -> None:
    """Run Block Storage, Shared File Systems, Keystone and their storage on this machine until Ctrl-C."""
    settings = Settings(
        data_directory=data_dir or default_data_directory(),
        host=host,
        port=port,
        share_port=share_port,
        keystone_port=keystone_port,
        iscsi_port=iscsi_port,
        storage_size=storage_size,
        cloud=cloud,
        user_clouds=USER_FILE if user_clouds else None,
    )
    os.umask(0o077)
    # What is ignored stays so: SIGHUP after `nohup`, SIGINT after the `&` of a script, whose Ctrl-C is not ours.
    heeded = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    for number in heeded:
        signal.signal(number, _end)
    console = Console(highlight=False)
    try:
        with Standalone(settings, block_service, share_service) as running:
            _mind(running, console, heeded)
    except KeyboardInterrupt:
        console.print("Stopped. All is kept.")
    except StandaloneError as error:
        raise click.ClickException(str(error)) from None
    except ConfigError:
        raise
    except Exception as error:  # the log, which has the rest, is a file
        LOG.exception("pumice up ends")
        text = " ".join(str(error).split())
        where = settings.data_directory / "pumice.log"
        raise click.ClickException(f"{type(error).__name__}: {text} (see {where})") from None


def _mind(running: Standalone, console: Console, heeded: Collection[int]) -> None:
    """Say what runs, and see to it until a signal comes.

    :raises KeyboardInterrupt: it came
    """
    with console.capture() as written:
        console.print(banner(running))
    click.echo(written.get(), nl=False)  # a signal in the middle of rich's own writing would have it twice
    while (received := _received(heeded)) is None:
        running.mind()
    if sender := _sender(received):
        console.print(f"{signal.Signals(received.si_signo).name} from {sender}")
    _end(received.si_signo, None, sender)


def _end(number: int, _frame: FrameType | None, sender: str = "") -> None:
    for other in SIGNALS:  # nothing interrupts the way down, which is short
        signal.signal(other, signal.SIG_IGN)
    LOG.info("pumice up ends: %s from %s", signal.Signals(number).name, sender or "a terminal or an unknown process")
    raise KeyboardInterrupt


def _received(heeded: Collection[int]) -> signal.struct_siginfo | None:
    """A signal that came within half a second."""
    received = signal.sigtimedwait(heeded, 0.5)
    # A wait that is interrupted as its time ends (by SIGCONT, a debugger) answers with whatever lay in memory.
    return received if received and received.si_signo in heeded else None


def _sender(received: signal.struct_siginfo) -> str:
    """The process that sent a signal; empty where the kernel did, as for a terminal."""
    if not received.si_pid:
        return ""
    try:
        name = psutil.Process(received.si_pid).name()
    except psutil.NoSuchProcess:
        name = "one that has ended"
    return f"{name} (process {received.si_pid})"


def banner(running: Standalone) -> Panel:
    assert running.storage is not None
    facts = Table.grid(padding=(0, 2))
    for name, value in (
        *_warnings(running),
        ("Block Storage", f"{running.url}/v3"),
        ("Shares", f"{running.share_url}/v2" if running.shares else running.shares_note or "none"),
        ("Identity", running.keystone.auth_url),
        ("iSCSI", f"{running.settings.host}:{running.target.port}"),
        *_file_servers(running),
        ("Storage", f"{running.storage.path} ({running.storage.note})"),
        ("Data and logs", str(running.directory.path)),
        ("", ""),
        ("Try", f"{_openstack(running)} volume create --size 1 test"),
        ("", f"{_openstack(running)} volume list"),
        *([("", f"{_openstack(running)} share create NFS 1")] if running.shares else []),
        ("As a user", f"{_openstack(running, '-demo')} volume list"),
        ("Stop", "Ctrl-C; `pumice up` finds everything again"),
    ):
        facts.add_row(f"[bold]{name}[/bold]", value)
    return Panel(facts, title=f"Pumice is up ({running.seconds:.1f} s)", expand=False)


def _warnings(running: Standalone) -> list[tuple[str, str]]:
    found = []
    for backend, number in running.service.unserved().items():
        option = f"enabled_backends in {running.directory.own_configuration}"
        text = f"{backend}, where volumes lie ({number}): add {backend.partition('@')[2]} to {option} to use them again"
        found.append(("[yellow]Not enabled[/yellow]", text))
    if running.rival:
        name = f"the name {running.settings.cloud}"
        text = f"{USER_FILE} keeps {name} for {running.rival}, which answers; --cloud NAME gives this one its own"
        found.append(("[yellow]clouds.yaml[/yellow]", text))
    return found


def _file_servers(running: Standalone) -> list[tuple[str, str]]:
    if running.servers is None:
        return []
    nfs, smb = running.servers.nfs, running.servers.smb
    return [
        ("NFS", f"{nfs.host}:{nfs.port} (NFSv3 also: mountport={nfs.mount_port})"),
        ("SMB", f"{smb.host}:{smb.port}"),
    ]


def _openstack(running: Standalone, suffix: str = "") -> str:
    beside = Path(sys.executable).with_name("openstack")
    program = "openstack" if shutil.which("openstack") or not beside.exists() else shlex.quote(str(beside))
    command = f"{program} --os-cloud {running.settings.cloud}{suffix}"
    if running.clouds_found:
        return command
    return f"OS_CLIENT_CONFIG_FILE={shlex.quote(str(running.directory.clouds))} {command}"
