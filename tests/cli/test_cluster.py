"""Two volume workers of one cluster, each a process of its own: both work, and one does what the other leaves."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import requests

from tests.cli.test_processes import api, configured, create, status
from tests.support.identity import HEADER, PEOPLE
from tests.support.processes import Process, until


def ask(port: int, method: str, path: str, body: Any = None) -> Any:
    answer = requests.request(
        method,
        f"http://127.0.0.1:{port}/v3/{PEOPLE['admin'].project_id}{path}",
        json=body,
        headers={HEADER: "admin", "OpenStack-API-Version": "volume 3.71"},
        timeout=60,
    )
    assert answer.ok, answer.text
    return answer.json() if answer.content else None


def test_one_does_what_the_other_leaves(tmp_path: Path) -> None:
    file, port = configured(tmp_path, "block", cluster="both", report_interval=1, service_down_time=4)
    file.write_text(f"{file.read_text()}[operations]\nthreads = 2\nlease = 2\n[sim]\nsimulated_latency = 1\n")
    other = file.with_name("other.conf")
    other.write_text(f"{file.read_text()}[DEFAULT]\nhost = two\n")
    with ExitStack() as undo:
        served, scheduler = api(file, port), Process(file, "block", "scheduler")
        first, second = Process(file, "block", "volume"), Process(other, "block", "volume")
        for process in (served, scheduler, first, second):
            undo.enter_context(process).ready()

        def cluster() -> dict[str, Any]:
            (found,) = ask(port, "GET", "/clusters/detail")["clusters"]
            return dict(found)

        listed = ask(port, "GET", "/os-services?binary=cinder-volume")["services"]
        assert {(one["host"], one["cluster"]) for one in listed} == {("one@sim", "both@sim"), ("two@sim", "both@sim")}
        assert (cluster()["num_hosts"], cluster()["num_down_hosts"]) == (2, 0)

        volumes = [create(port) for _ in range(8)]
        until(lambda: any(status(port, one) == "available" for one in volumes), "the first is there")
        first.process.kill()
        first.process.wait(30)
        until(lambda: all(status(port, one) == "available" for one in volumes), "all are there")
        until(lambda: cluster()["num_down_hosts"] == 1, "the dead one is missed")
        assert cluster()["state"] == "up"

        cleaned = ask(port, "POST", "/workers/cleanup", {"cluster_name": "both@sim", "is_up": False})
        assert [one["host"] for one in cleaned["cleaning"]] == ["one@sim"]
        assert cleaned["unavailable"] == []
