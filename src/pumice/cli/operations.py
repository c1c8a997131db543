"""`pumice operations`: the journals as the APIs of the cloud's services show them.

An operation has id, kind, resource_type, resource_id, state, step, progress (0 to 100, or null), created_at,
updated_at, error and project_id.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click
import openstack.config
from keystoneauth1.adapter import Adapter
from keystoneauth1.exceptions import ClientException, EndpointNotFound
from openstack.exceptions import SDKException
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

SERVICES = {"block-storage": {}, "shared-file-system": {"X-OpenStack-Manila-API-Version": "2.60"}}
"""Types of the services that have journals, and headers for them; those in the catalog are asked.

Catalogs may have shares without a project, which paths need below 2.60.
"""
ENDED = frozenset({"succeeded", "failed", "cancelled"})
COLUMNS = ("id", "kind", "resource_id", "state", "step", "progress", "created_at", "error")

Operation = dict[str, Any]

cloud_option = click.option("--os-cloud", envvar="OS_CLOUD", help="Name in clouds.yaml; else OS_* variables count.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def operations() -> None:
    """Look at what the services are doing."""


@operations.command("list")
@cloud_option
@json_option
def list_operations(os_cloud: str | None, *, as_json: bool) -> None:
    """Print the operations of your project, the newest first; administrators see those of all projects."""
    found = _all(_clients(os_cloud))
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    table, console = Table(box=None), Console()
    if not console.is_terminal:
        console.width = 1000  # for the next command in the pipe, which wants whole values
    for column in COLUMNS:
        table.add_column(column, overflow="fold")
    for operation in found:
        table.add_row(*[_text(operation.get(column)) for column in COLUMNS])
    console.print(table)


@operations.command()
@click.argument("operation_id")
@cloud_option
@json_option
def show(operation_id: str, os_cloud: str | None, *, as_json: bool) -> None:
    """Print one operation."""
    operation = _one(_clients(os_cloud), operation_id)
    if as_json:
        click.echo(json.dumps(operation, indent=2))
        return
    for name, value in operation.items():
        click.echo(f"{name:14} {_text(value)}")


@operations.command()
@click.argument("operation_ids", nargs=-1)
@click.option("--interval", default=1.0, show_default=True, help="Seconds between two looks.")
@cloud_option
@click.pass_context
def watch(ctx: click.Context, operation_ids: tuple[str, ...], interval: float, os_cloud: str | None) -> None:
    """Follow operations with progress bars.

    With ids, until they have ended: exit code 1 tells that one failed. Without, all that are under way, until
    Ctrl-C.
    """
    clients = _clients(os_cloud)

    def look() -> list[Operation]:
        return [_one(clients, id) for id in operation_ids] if operation_ids else _all(clients)

    last = follow(look, interval=interval, until_ended=bool(operation_ids))
    if any(operation["state"] != "succeeded" for operation in last):
        ctx.exit(1)


def follow(look: Callable[[], list[Operation]], *, interval: float, until_ended: bool) -> list[Operation]:
    """Show what `look` returns, again and again, until it has ended or the user stops it; the last look."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.fields[said]}"), console=Console()) as bars:
        shown: dict[str, TaskID] = {}
        try:
            while True:
                found = look()
                _draw(bars, shown, found, ended_too=until_ended)
                if until_ended and all(operation["state"] in ENDED for operation in found):
                    return found
                time.sleep(interval)
        except KeyboardInterrupt:
            return []


def _draw(bars: Progress, shown: dict[str, TaskID], found: Iterable[Operation], *, ended_too: bool) -> None:
    for operation in found:
        ended, progress = operation["state"] in ENDED, operation.get("progress")
        if operation["id"] not in shown:
            if ended and not ended_too:
                continue
            label = f"{operation['kind']} {operation['resource_id']}"
            shown[operation["id"]] = bars.add_task(label, total=None, said="")
        task, said = shown[operation["id"]], operation.get("error") or operation["state"]
        if ended or progress is not None:
            completed = 100 if operation["state"] == "succeeded" else progress or 0
            bars.update(task, total=100, completed=completed, said=said)
        else:
            bars.update(task, said=said)
        if ended:
            bars.stop_task(task)


def _clients(os_cloud: str | None) -> list[Adapter]:
    try:
        cloud = openstack.config.OpenStackConfig().get_one(cloud=os_cloud)
        clients = [
            Adapter(
                cloud.get_session(),
                service_type=service,
                interface=cloud.get_interface(service),
                region_name=cloud.get_region_name(service),
                endpoint_override=cloud.get_endpoint(service),
                additional_headers=headers,
            )
            for service, headers in SERVICES.items()
        ]
        there = [client for client in clients if _is_there(client)]
    except (SDKException, ClientException) as error:
        raise click.ClickException(str(error)) from error
    if not there:
        raise click.ClickException(f"The catalog has neither of the services {' and '.join(SERVICES)}.")
    return there


def _is_there(client: Adapter) -> bool:
    try:
        return client.get_endpoint() is not None
    except EndpointNotFound:
        return False


def _all(clients: Iterable[Adapter]) -> list[Operation]:
    found = [operation for client in clients for operation in _get(client, "/operations")["operations"]]
    return sorted(found, key=lambda operation: str(operation["created_at"]), reverse=True)


def _one(clients: Sequence[Adapter], id: str) -> Operation:
    """From whichever service has it; what is said of one that none has is the last one's word."""
    for client in clients:
        try:
            operation: Operation = _get(client, f"/operations/{id}")["operation"]
            return operation
        except _Missing as error:
            missing = error
    raise missing


class _Missing(click.ClickException):
    """The service has no such operation."""


def _get(client: Adapter, path: str) -> dict[str, Any]:
    try:
        answer = client.get(path, raise_exc=False)
        body: dict[str, Any] = answer.json()
    except (ClientException, ValueError) as error:
        raise click.ClickException(str(error)) from error
    if answer.status_code != 200:
        fault: dict[str, Any] = next(iter(body.values()), {})
        refusal = _Missing if answer.status_code == 404 else click.ClickException
        raise refusal(f"{fault.get('message')} (HTTP {answer.status_code})")
    return body


def _text(value: Any) -> str:
    return "" if value is None else str(value)
