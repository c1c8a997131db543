"""Guests for tests: a kernel of their own (user-mode Linux) over this machine's root file system.

A guest boots in about two seconds and sees the host's programs and files read only; what it writes goes to its memory.
It is what a client of block storage is: it has its own iSCSI initiator, devices and mounts, and reaches the host's
side over one network that nobody else is on.

    with Network() as network, Guest(network, tmp_path) as guest:
        guest.run("uname -r").output
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import select
import signal
import subprocess
from pathlib import Path
from typing import Self

INIT = Path(__file__).with_name("guest-init")


class GuestError(AssertionError):
    """A guest that did not boot, did not answer in time, or whose command failed."""


@dataclasses.dataclass(frozen=True)
class Result:
    status: int
    output: str
    errors: str


class Network:
    """A network namespace with a bridge; it ends with the process that holds it, its interfaces with it."""

    address = "10.99.0.1"

    def __init__(self) -> None:
        self._guests = itertools.count(1)
        self._holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "echo; exec cat"],  # which ends with its input, so at the latest with us
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._holder.stdout is not None
        self._holder.stdout.readline()  # written once the namespace is made
        self._ip("link", "set", "lo", "up")
        self._ip("link", "add", "bridge", "type", "bridge")
        self._ip("address", "add", f"{self.address}/24", "dev", "bridge")
        self._ip("link", "set", "bridge", "up")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._holder.communicate(timeout=10)

    def inside(self, *command: str) -> list[str]:
        """The command line that runs a command in this network."""
        return ["nsenter", f"--net=/proc/{self._holder.pid}/ns/net", *command]

    def plug(self) -> tuple[str, str]:
        """A new tap interface on the bridge, and the address (with prefix length) for the guest behind it."""
        number = next(self._guests)
        tap = f"tap{number}"
        self._ip("tuntap", "add", tap, "mode", "tap")
        self._ip("link", "set", tap, "master", "bridge", "up")
        return tap, f"10.99.0.{number + 1}/24"

    def _ip(self, *words: str) -> None:
        subprocess.run(self.inside("ip", *words), check=True, timeout=10)


class Guest:
    """One running guest. `directory` holds its log and what is exchanged with it."""

    def __init__(self, network: Network, directory: Path, *, name: str = "guest", memory: str = "256M") -> None:
        self.name = name
        self._directory = directory / name
        self._share = self._directory / "share"
        self._share.mkdir(parents=True)
        self._numbers = itertools.count(1)
        tap, self.address = network.plug()
        self._replies, guest_end = os.pipe()
        command = network.inside(
            "linux.uml",
            f"mem={memory}",
            *("rootfstype=hostfs", "rootflags=/", "ro", f"init={INIT}"),
            *("con0=null,fd:1", "con=null", f"ssl0=fd:0,fd:{guest_end}", "ssl=null"),
            f"vec0:transport=tap,ifname={tap},depth=128,gro=1",  # without gro large incoming segments are dropped
            *(f"umid={name}", f"uml_dir={self._directory}/"),
            *(f"guest_name={name}", f"guest_address={self.address}", f"guest_share={self._share}"),
        )
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=[guest_end],
                start_new_session=True,
                env={**os.environ, "TMPDIR": "/dev/shm"},  # its memory is a file there, unlinked at once
            )
        os.close(guest_end)
        try:
            self._expect("ready", 60)
        except GuestError:
            self.power_off()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.power_off()

    def run(self, script: str, *, timeout: float = 60, check: bool = True) -> Result:
        """Runs a shell script in the guest; GuestError if it takes longer or, with `check`, its status is not 0."""
        number = str(next(self._numbers))
        (self._share / number).write_text(script)
        assert self._process.stdin is not None
        self._process.stdin.write(f"{number}\n".encode())
        self._process.stdin.flush()
        self._expect(number, timeout)
        status, output, errors = (
            (self._share / f"{number}.{part}").read_text(errors="replace") for part in ("status", "out", "err")
        )
        result = Result(int(status), output, errors)
        if check and result.status:
            msg = f"{self.name}: {script!r} ended with {result.status}\n{output}{errors}"
            raise GuestError(msg)
        return result

    def power_off(self) -> None:
        """Ends the guest without unmounting anything: what it had not synced to its disks is lost."""
        try:
            self._process.communicate(timeout=5)  # closes the line, which the guest takes as the end
        except subprocess.TimeoutExpired:  # its command loop hangs, or it never came up
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()
        if self._replies >= 0:
            os.close(self._replies)
            self._replies = -1

    @property
    def _log(self) -> Path:
        return self._directory / "console.log"

    def _expect(self, word: str, timeout: float) -> None:
        line = b""
        while not line.endswith(b"\n"):
            readable, _, _ = select.select([self._replies], [], [], timeout)
            received = os.read(self._replies, 1) if readable else b""
            if not received:
                why = "ended" if readable else f"gave no answer in {timeout} s"
                msg = f"{self.name} {why}; its console:\n{self._log.read_text(errors='replace')[-3000:]}"
                raise GuestError(msg)
            line += received
        assert line.decode().strip() == word, f"{self.name} answered {line!r} instead of {word!r}"
