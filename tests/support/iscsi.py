"""An initiator in user space: qemu's, driven by a connection as the file backend returns it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

INITIATOR = "iqn.2026-01.org.example:host"


def _options(connection: Mapping[str, Any], initiator: str, password: str | None) -> list[str]:
    data = connection["data"]
    disk = (
        f"driver=iscsi,transport=tcp,portal={data['target_portal']},target={data['target_iqn']},"
        f"lun={data['target_lun']},user={data['auth_username']},initiator-name={initiator},"
        "password-secret=chap"
    )
    secret = f"secret,id=chap,data={password or data['auth_password']}"
    return ["--object", secret, "--image-opts", disk]


def qemu_io(
    connection: Mapping[str, Any],
    *commands: str,
    initiator: str = INITIATOR,
    password: str | None = None,
    read_only: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Logs in and runs qemu-io's commands; its exit code is 0 when all of them worked."""
    words = [word for command in commands for word in ("-c", command)]
    return subprocess.run(
        ["qemu-io", *(["-r"] if read_only else []), *_options(connection, initiator, password), *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )


def size_of(connection: Mapping[str, Any]) -> int:
    """The bytes that a new session sees."""
    done = qemu_io(connection, "length")
    assert not done.returncode, done.stderr
    number, unit = done.stdout.split()
    return int(float(number) * {"MiB": 2**20, "GiB": 2**30}[unit])


@contextmanager
def writing(connection: Mapping[str, Any], mebibytes: int = 900) -> Iterator[subprocess.Popen[str]]:
    """A session that writes pattern 0x61 in 64 KiB requests, one after the other; killed at the end."""
    commands = [word for at in range(mebibytes * 16) for word in ("-c", f"write -q -P 0x61 {at * 65536} 65536")]
    with subprocess.Popen(
        ["qemu-io", *_options(connection, INITIATOR, None), *commands],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()
