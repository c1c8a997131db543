"""`pumice block …` and `pumice share …`: real processes, each on its own."""

from __future__ import annotations

import signal
import socket
import threading
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from click.testing import CliRunner
from sqlalchemy import select

from pumice.cli import main
from pumice.kernel.db import migrations
from pumice.kernel.db.base import new_id
from pumice.kernel.db.engine import Database
from pumice.kernel.operations.model import Operation
from pumice.standalone.keystone import CatalogEntry
from tests.support.databases import url_of
from tests.support.identity import HEADER, PEOPLE
from tests.support.keystone import Cloud, keystone_authtoken
from tests.support.ports import free_port
from tests.support.processes import Process, until, write_configuration
from tests.support.stepped import CLOCK

PROJECT = PEOPLE["member_a"].project_id
VOLUMES = f"/v3/{PROJECT}/volumes"


def configured(directory: Path, service: str, cloud: Cloud | None = None, **options: Any) -> tuple[Path, int]:
    """A configuration with a simulated backend, on a database with the schema; and the port of its API."""
    port = free_port()
    block = service == "block"
    general = {
        "state_path": directory,
        "log_dir": directory / "log",
        "host": "one",
        "enabled_backends" if block else "enabled_share_backends": "sim",
        "osapi_volume_listen_port" if block else "osapi_share_listen_port": port,
        **options,
    }
    (directory / "log").mkdir(exist_ok=True)
    url = url_of(directory / f"{service}.sqlite")
    with closing(Database(url)) as db:
        migrations.upgrade(db, service)
    backend = {"volume_driver" if block else "share_driver": "simulated", "simulated_directory": "backend"}
    login = {"auth_url": "http://127.0.0.1:9/v3", "username": "u", "password": "p"}
    sections = {
        "DEFAULT": general,
        "database": {"connection": url},
        "operations": {"sweep_interval": 0.2},
        "sim": backend,
        "keystone_authtoken": keystone_authtoken(cloud) if cloud else login,
    }
    return write_configuration(directory / f"{service}.conf", sections), port


def api(file: Path, port: int) -> Process:
    """The API with callers named by a header."""
    return Process(file, file.stem, port=port, module="tests.support.api_process")


def create(port: int, **hints: str) -> str:
    """A new volume; with hints the scheduler places it, and never the API."""
    body = {"volume": {"size": 1}, "OS-SCH-HNT:scheduler_hints": hints}
    answer = requests.post(f"http://127.0.0.1:{port}{VOLUMES}", json=body, headers={HEADER: "member_a"}, timeout=60)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["volume"]["id"])


def status(port: int, volume: str) -> str:
    answer = requests.get(f"http://127.0.0.1:{port}{VOLUMES}/{volume}", headers={HEADER: "member_a"}, timeout=60)
    return str(answer.json()["volume"]["status"])


def test_a_scheduler_whose_clock_is_wrong_places_as_any_other(tmp_path: Path) -> None:
    file, port = configured(tmp_path, "block", report_interval=1, service_down_time=20)
    (tmp_path / "astray").mkdir()
    astray = tmp_path / "astray" / file.name
    astray.write_text(file.read_text())
    clock = astray.with_name(CLOCK)
    clock.write_text("3600")
    scheduler = Process(astray, "block", "scheduler", module="tests.support.stepped")
    with api(file, port) as served, scheduler, Process(file, "block", "volume") as worker:
        for process in (served, scheduler, worker):
            process.ready()
        for seconds in ("3600", "-3600"):
            clock.write_text(seconds)
            volume = create(port, different_host=new_id())
            until(lambda made=volume: status(port, made) == "available", f"it is placed by a clock {seconds} s off")


def operations(file: Path) -> list[Operation]:
    with closing(Database(url_of(file.with_suffix(".sqlite")))) as db, db.read() as tx:
        return list(tx.scalars(select(Operation)))


@pytest.mark.real
@pytest.mark.parametrize("service", ["block", "share"])
def test_three_processes_are_a_service(tmp_path: Path, cloud: Cloud, service: str) -> None:
    file, port = configured(tmp_path, service, cloud)
    worker = "volume" if service == "block" else "share"
    with ExitStack() as undo:
        served = undo.enter_context(Process(file, service, "api", port=port))
        workers = [undo.enter_context(Process(file, service, part)) for part in ("scheduler", worker)]
        for process in (served, *workers):
            process.ready()
        for process in workers:
            metrics = process.health("/metrics")
            assert metrics is not None
            assert "pumice_sweeps_total" in metrics.text
        things, name = ("volumes", "volume") if service == "block" else ("shares", "share")
        url = f"http://127.0.0.1:{port}/v3/{cloud.project_id('admin_a')}" if service == "block" else ""
        url = f"{url or f'http://127.0.0.1:{port}/v2'}/{things}"
        session = requests.Session()
        session.headers["X-Auth-Token"] = cloud.token("admin_a")
        if service == "share":
            session.headers["X-OpenStack-Manila-API-Version"] = "2.60"
            types = {"share_type": {"name": "t", "extra_specs": {"driver_handles_share_servers": False}}}
            assert session.post(f"http://127.0.0.1:{port}/v2/types", json=types, timeout=60).status_code == 200
        body = {name: {"size": 1, **({"share_proto": "NFS", "share_type": "t"} if service == "share" else {})}}
        answer = session.post(url, json=body, timeout=60)
        assert answer.status_code in {200, 202}, answer.text
        made = f"{url}/{answer.json()[name]['id']}"
        until(lambda: session.get(made, timeout=60).json()[name]["status"] == "available", "it is available")
        kinds = ("block-storage", "volumev3") if service == "block" else ("shared-file-system", "sharev2")
        cloud.keystone.catalog([CatalogEntry(kind, kind, f"http://127.0.0.1:{port}/") for kind in kinds])
        examined = CliRunner().invoke(main, ["--config-file", str(file), "doctor", "--service", service])
        assert (examined.exit_code, "WRONG" in examined.output) == (0, False), examined.output
        for process in (served, *workers):
            assert process.end() == 0, process.output.read_text()
    for log in ("api", "scheduler", worker):
        assert (tmp_path / "log" / f"{service}-{log}.log").stat().st_size > 0


def test_an_api_counts_the_requests_of_all_its_processes(tmp_path: Path) -> None:
    file, port = configured(tmp_path, "block", osapi_volume_workers=3)
    with api(file, port) as served:
        served.ready()
        url, sent = f"http://127.0.0.1:{port}", 0

        def counts() -> list[Path]:
            """The files of those that have answered."""
            maps = [one for child in psutil.Process(served.process.pid).children() for one in child.memory_maps()]
            return [Path(one.path) for one in maps if "pumice-metrics-" in one.path]

        def several_have_answered() -> bool:
            nonlocal sent
            for _ in range(10):  # each on a connection of its own, which any of them may take
                assert requests.get(url + VOLUMES, headers={HEADER: "member_a"}, timeout=60).ok
                sent += 1
            return len(counts()) > 1

        until(several_have_answered, "several have answered")
        for _ in range(10):
            scraped = requests.get(f"{url}/metrics", timeout=60).text
            (line,) = [one for one in scraped.splitlines() if one.startswith("pumice_request_seconds_count{")]
            assert line.endswith(f" {sent}.0"), line
        assert "pumice_queue_depth" in scraped
        kept = counts()
        assert served.end() == 0
        assert not any(one.parent.exists() for one in kept)


def test_what_runs_ends_before_its_worker_does(tmp_path: Path) -> None:
    file, port = configured(tmp_path, "block")
    file.write_text(file.read_text() + "[sim]\nsimulated_latency = 1.5\n")
    with api(file, port) as served, Process(file, "block", "scheduler") as scheduler:
        with Process(file, "block", "volume") as worker:
            for process in (served, scheduler, worker):
                process.ready()
            volume = create(port)
            until(
                lambda: any(one.state == "running" and one.queue.startswith("volume") for one in operations(file)),
                "it runs",
            )
            assert worker.end() == 0
        assert status(port, volume) == "available"
        assert [one.state for one in operations(file)] == ["succeeded"]


def test_what_takes_too_long_is_handed_back_and_done_by_the_next(tmp_path: Path) -> None:
    file, port = configured(tmp_path, "block", graceful_shutdown_timeout=1)
    slow = file.with_name("slow.conf")
    slow.write_text(f"{file.read_text()}[sim]\nsimulated_latency = 30\n")
    with api(file, port) as served, Process(file, "block", "scheduler") as scheduler:
        for process in (served, scheduler):
            process.ready()
        with Process(slow, "block", "volume") as worker:
            worker.ready()
            volume = create(port)
            until(
                lambda: any(one.state == "running" and one.queue.startswith("volume") for one in operations(file)),
                "it runs",
            )
            assert worker.end(20) == 0
        (operation,) = operations(file)
        assert (operation.state, operation.owner) == ("queued", None)
        with Process(file, "block", "volume") as worker:
            worker.ready()
            until(lambda: status(port, volume) == "available", "the volume is available")


def test_a_reload_takes_the_files_as_they_are_and_loses_no_request(tmp_path: Path) -> None:
    file, port = configured(tmp_path, "block", public_endpoint="http://first.example")
    url, log = f"http://127.0.0.1:{port}", tmp_path / "log" / "block-api.log"
    answers: list[int] = []
    stop = threading.Event()

    def ask() -> None:
        with requests.Session() as session:
            while not stop.is_set() and len(answers) < 20_000:
                answers.append(session.get(url + VOLUMES, headers={HEADER: "member_a"}, timeout=60).status_code)

    def add(line: str) -> None:
        file.write_text(f"{file.read_text()}[DEFAULT]\n{line}\n")
        served.signal(signal.SIGHUP)

    with api(file, port) as served:
        served.ready()
        asking = [threading.Thread(target=ask) for _ in range(2)]
        for thread in asking:
            thread.start()
        try:
            add("public_endpoint = http://second.example")
            until(lambda: "second.example" in requests.get(url, timeout=60).text, "the new files count")
            until(lambda: log.read_text().count("Worker exiting") == 2, "the old processes are gone")
        finally:
            stop.set()
            for thread in asking:
                thread.join(60)
        assert set(answers) == {200}
        add("osapi_max_limit = none")
        until(lambda: "the configuration is wrong, and what was in force stays" in log.read_text(), "it is told")
        assert "second.example" in requests.get(url, timeout=60).text
        assert served.end() == 0


def test_a_worker_logs_as_its_file_says_into_a_file_that_is_opened_anew(tmp_path: Path) -> None:
    file, _ = configured(tmp_path, "block")
    log = tmp_path / "log" / "block-volume.log"
    with Process(file, "block", "volume") as worker:
        worker.ready()
        assert "DEBUG" not in log.read_text()
        log.rename(log.with_suffix(".1"))
        file.write_text(f"{file.read_text()}[DEFAULT]\ndebug = true\n")
        worker.signal(signal.SIGHUP)
        until(lambda: log.exists() and "logs as its configuration says now" in log.read_text(), "it is reloaded")
        worker.health()
        until(lambda: "DEBUG pumice.kernel.supervision" in log.read_text(), "details are logged")


def test_readiness_tells_what_is_missing(tmp_path: Path) -> None:
    file, _ = configured(tmp_path, "block")
    # A file in the place of the directory that the driver needs.
    (tmp_path / "backend").write_text("")
    with Process(file, "block", "volume") as worker:
        until(lambda: worker.health("/healthcheck"), "it answers")
        answer = worker.health()
        assert answer is not None
        assert answer.status_code == 503
        assert answer.json() == {"status": "unavailable", "reasons": ["None of its backends is up."]}
        assert worker.end() == 0


@pytest.mark.parametrize("command", ["api", "scheduler"])
def test_without_a_schema_it_says_what_to_do(tmp_path: Path, command: str) -> None:
    file = write_configuration(tmp_path / "block.conf", {"database": {"connection": f"sqlite:///{tmp_path}/empty"}})
    with Process(file, "block", command, port=free_port() if command == "api" else None) as process:
        assert process.process.wait(60) == 2
        assert "run `pumice db upgrade --service block`" in process.output.read_text()


@pytest.mark.parametrize("address", ["8780", "a:b", "127.0.0.1:70000"])
def test_a_wrong_address_is_refused(address: str) -> None:
    done = CliRunner().invoke(main, ["block", "scheduler", "--health", address])
    assert done.exit_code == 2
    assert "HOST:PORT is wanted" in done.output


def test_a_family_is_looked_after_and_ends_together(tmp_path: Path) -> None:
    file, _ = configured(tmp_path, "block")
    health = free_port()
    with Process(file, "block", "run", "scheduler", f"volume=127.0.0.1:{health}", port=health) as family:
        family.ready()
        members = psutil.Process(family.process.pid).children()
        assert len(members) == 2
        members[-1].kill()
        log = tmp_path / "log" / "block-run.log"
        until(lambda: "is started again" in log.read_text(), "it is started again")
        family.ready()
        family.signal(signal.SIGHUP)
        for part in ("scheduler", "volume"):
            told = tmp_path / "log" / f"block-{part}.log"
            until(lambda told=told: "logs as its configuration says now" in told.read_text(), f"{part} has heard it")
        members = psutil.Process(family.process.pid).children()
        assert family.end() == 0
    assert not any(member.is_running() for member in members)


def test_a_family_dies_with_its_parent(tmp_path: Path) -> None:
    file, _ = configured(tmp_path, "block")
    health = free_port()
    with Process(file, "block", "run", f"volume=127.0.0.1:{health}", port=health) as family:
        family.ready()
        (member,) = psutil.Process(family.process.pid).children()
        family.process.kill()
        member.wait(60)


@pytest.mark.parametrize("part", ["volumes", "api=127.0.0.1:8777", "scheduler=8777"])
def test_a_wrong_part_is_refused(part: str) -> None:
    assert CliRunner().invoke(main, ["block", "run", part]).exit_code == 2


def test_systemd_is_told_of_readiness_and_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, _ = configured(tmp_path, "block")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(tmp_path / "notify"))
        told.settimeout(60)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        with Process(file, "block", "scheduler") as scheduler:
            assert told.recv(100) == b"READY=1"
            scheduler.signal(signal.SIGHUP)
            assert [told.recv(100), told.recv(100)] == [b"RELOADING=1", b"READY=1"]
            assert scheduler.end() == 0
            assert told.recv(100) == b"STOPPING=1"
