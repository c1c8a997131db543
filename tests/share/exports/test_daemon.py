from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from pumice.kernel.drivers import BackendError
from pumice.share.exports.daemon import Daemon, program, socket_directory
from tests.support.waiting import LONG

# Says that it is there, and leaves a child behind.
SERVER = ["sh", "-c", 'sleep 1000 & echo $! > "$0.child"; touch "$0"; wait']


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[], Daemon]]:
    def make() -> Daemon:
        daemon = Daemon("server", tmp_path, ready=(tmp_path / "ready").exists)
        made.append(daemon)
        return daemon

    made: list[Daemon] = []
    yield make
    for daemon in made:
        daemon.stop()


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    return [*SERVER, str(tmp_path / "ready")]


def test_a_process_is_started_and_ended_with_its_children(
    make: Callable[[], Daemon], command: list[str], tmp_path: Path
) -> None:
    daemon = make()
    assert not daemon.alive
    assert daemon.start(command)
    assert daemon.alive
    child = psutil.Process(int((tmp_path / "ready.child").read_text()))
    daemon.stop()
    assert not daemon.alive
    child.wait(LONG)
    daemon.stop()


def test_a_process_that_was_left_behind_is_taken_over(make: Callable[[], Daemon], command: list[str]) -> None:
    first, heir = make(), make()
    first.start(command)
    assert not heir.start(command)
    assert heir.pid == first.pid
    heir.stop()
    assert not first.alive


@pytest.mark.parametrize("other", [{"environment": {"ANOTHER": "one"}}, {"configuration": "port = 1\n"}])
def test_one_that_was_started_otherwise_is_replaced(
    make: Callable[[], Daemon], command: list[str], other: dict[str, Any]
) -> None:
    first, heir = make(), make()
    first.start(command)
    assert heir.start(command, **other)
    assert heir.pid != first.pid
    assert not first.alive


def test_one_that_died_is_noticed(make: Callable[[], Daemon], command: list[str]) -> None:
    daemon = make()
    daemon.start(command)
    process = psutil.Process(daemon.pid)
    process.kill()
    while process.status() != psutil.STATUS_ZOMBIE:
        pass
    assert not daemon.alive


def test_what_does_not_start(make: Callable[[], Daemon], tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=rf"server did not start: no licence \(see {tmp_path}/server.log\)"):
        make().start(["sh", "-c", "echo no licence; exit 1"])
    with pytest.raises(BackendError, match=r"/no/such/program is missing"):
        make().start(["/no/such/program"])
    with pytest.raises(BackendError, match="apt-get install some-package"):
        program("no-such-program", "some-package")
    assert program("true", "coreutils").endswith("/true")


def test_sockets_have_short_paths(tmp_path: Path) -> None:
    assert socket_directory(tmp_path) == tmp_path
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    short = socket_directory(deep)
    assert len(str(short)) < 90
    assert short == socket_directory(deep)
    assert short.stat().st_mode & 0o777 == 0o700
    short.rmdir()


def test_programs_of_the_system_are_found_without_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert subprocess.run([program("ldconfig", "libc-bin"), "-p"], capture_output=True, check=True).stdout
