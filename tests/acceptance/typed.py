"""The `openstack` command, typed many times by people who do not wait for its start each time."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing import get_context


class OpenStack:
    """A process for each cloud: the command keeps its login for as long as its process lives.

    :param environment: of the person's shell
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._processes: dict[str, ProcessPoolExecutor] = {}

    def __call__(self, cloud: str, *words: str) -> tuple[int, str, str]:
        """Its exit status, what it said, and what it complained of."""
        if cloud not in self._processes:
            self._processes[cloud] = ProcessPoolExecutor(1, get_context("spawn"), _begin, [self._environment])
        return self._processes[cloud].submit(_typed, ["--os-cloud", cloud, *words]).result(timeout=180)

    def close(self) -> None:
        for process in self._processes.values():
            process.shutdown()


def _begin(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)


def _typed(words: list[str]) -> tuple[int, str, str]:
    from openstackclient import shell  # noqa: PLC0415 - what it imports warns, which ends tests

    said, complaints = io.StringIO(), io.StringIO()
    with redirect_stdout(said), redirect_stderr(complaints):
        try:
            status = shell.main(words)
        except SystemExit as end:  # argparse's way to complain
            status = int(end.code or 0)
    return status, said.getvalue(), complaints.getvalue()
