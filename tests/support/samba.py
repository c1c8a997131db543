"""An SMB server of a test's own, and a client in user space."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pumice.share.exports.samba_server import SambaServer
from tests.support.guest import Network
from tests.support.ports import free_port

ADDRESS = "127.0.0.1"
PASSWORD = "the-password"


@contextmanager
def samba_server(directory: Path, network: Network | None = None) -> Iterator[SambaServer]:
    """A running server, at the usual port of a `network`, else at a free one of 127.0.0.1."""
    server = (
        SambaServer(directory / "samba", network.address, 445, prefix=network.inside())
        if network
        else SambaServer(directory / "samba", ADDRESS, free_port())
    )
    try:
        server.start()
        yield server
    finally:
        server.stop()


@contextmanager
def open_directory() -> Iterator[Path]:
    """A directory that everybody gets to. Below tmp_path only root does: each pytest that starts sees to that."""
    with tempfile.TemporaryDirectory(prefix="share-") as directory:
        Path(directory).chmod(0o777)
        yield Path(directory)


def add_user(server: SambaServer, name: str) -> None:
    """Let Samba know a user of the system, with PASSWORD."""
    subprocess.run(
        ["smbpasswd", "-c", str(server.configuration), "-L", "-a", "-s", name],
        input=f"{PASSWORD}\n{PASSWORD}\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )


def smbclient(server: SambaServer, share: str, command: str, user: str | None = None) -> str:
    """What smbclient says to one command in a share, as a user or as a guest.

    :raises PermissionError: the server refused
    """
    who = [f"--user={user}%{PASSWORD}"] if user else ["--no-pass"]
    done = subprocess.run(
        [
            *("smbclient", "--configfile=/dev/null", f"--port={server.port}", *who),
            *(f"//{server.host}/{share}", "--command", command),
        ],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    if done.returncode or "NT_STATUS" in done.stdout:
        raise PermissionError(done.stdout + done.stderr)
    return done.stdout
