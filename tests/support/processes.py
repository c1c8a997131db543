"""Real processes of a service, each started, asked for its health, sent signals, and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import requests

from tests.support.ports import free_port
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[2]


def until(condition: Callable[[], Any], what: str, seconds: float = 180) -> Any:
    """What `condition` returns once it is something."""
    return eventually(condition, seconds, lambda: f"in vain until {what}")


def write_configuration(file: Path, sections: Mapping[str, Mapping[str, Any]]) -> Path:
    file.write_text(
        "".join(
            f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())
            for name, values in sections.items()
        )
    )
    return file


class Process:
    """`pumice ARGUMENTS` (or `python -m MODULE ARGUMENTS`) on a configuration file.

    :param port: where it answers supervisors; None: a port of its own, given as `--health`
    :param code: directory with another release of the package
    """

    def __init__(
        self, file: Path, *arguments: str, port: int | None = None, module: str = "", code: Path | None = None
    ) -> None:
        self.output = file.with_name("-".join((file.stem, *arguments)) + ".out")
        self.port = port or free_port()
        health = () if port else ("--health", f"127.0.0.1:{self.port}")
        command = ["-m", module] if module else ["-c", "from pumice.cli import main; main()"]
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, *command, *arguments, *health],
                cwd=ROOT,
                env=os.environ | {"PUMICE_CONFIG_FILE": str(file)} | ({"PYTHONPATH": str(code)} if code else {}),
                stdout=output,
                stderr=output,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(30)

    def health(self, path: str = "/healthcheck/ready") -> requests.Response | None:
        try:
            return requests.get(f"http://127.0.0.1:{self.port}{path}", timeout=10)
        except requests.RequestException:
            return None

    def ready(self, seconds: float = 180) -> Self:
        def look() -> bool:
            assert self.process.poll() is None, self.output.read_text()[-4000:]
            answer = self.health()
            return answer is not None and answer.status_code == 200

        until(look, f"{self.process.args} is ready", seconds)
        return self

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self, seconds: float = 120) -> int:
        """SIGTERM; the exit code."""
        self.signal(signal.SIGTERM)
        return self.process.wait(seconds)
