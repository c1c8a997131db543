from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from oslo_config import cfg

from pumice.kernel.locks import Locks, LockTimeout

HOLDER = """
import sys, time
from pumice.kernel.locks import Locks
from tests.kernel.test_locks import configured
locks = Locks(configured(sys.argv[1]))
locks.start()
with locks.hold("volume-1"):
    print("held", flush=True)
    time.sleep(60)
"""

COUNTER = """
import pathlib, sys
from pumice.kernel.locks import Locks
from tests.kernel.test_locks import configured
locks, file = Locks(configured(sys.argv[1])), pathlib.Path(sys.argv[1], "count")
locks.start()
for _ in range(50):
    with locks.hold("volume-1"):
        file.write_text(str(int(file.read_text()) + 1))
"""

TRY = """
import fcntl, sys
with open(sys.argv[1], "a") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(1)
    print("held", flush=True)
    sys.stdin.read() if len(sys.argv) > 2 else None
"""


@contextmanager
def holding(path: Path) -> Iterator[Callable[[], None]]:
    """Another process has the file's lock, until what this gives is called."""
    command = [sys.executable, "-c", TRY, str(path), "wait"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"

        def let_go() -> None:
            other.communicate(timeout=10)

        yield let_go


def free_for_another_process(path: Path) -> bool:
    return subprocess.run([sys.executable, "-c", TRY, str(path)], capture_output=True, check=False).returncode == 0


def configured(directory: str) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.StrOpt("host", default="h"))
    conf.register_opt(cfg.StrOpt("state_path", default=directory))
    conf.register_opt(cfg.StrOpt("backend_url", default="file://$state_path/coordination"), group="coordination")
    conf([], default_config_files=[])
    return conf


@pytest.fixture
def locks(tmp_path: Path) -> Iterator[Locks]:
    locks = Locks(configured(str(tmp_path)))
    locks.start()
    yield locks
    locks.stop()


@pytest.fixture
def others(tmp_path: Path) -> Iterator[Locks]:
    """Another worker in the same process."""
    locks = Locks(configured(str(tmp_path)))
    locks.start()
    yield locks
    locks.stop()


def test_threads_and_services_take_turns(locks: Locks, others: Locks) -> None:
    inside, most = 0, 0
    count = threading.Lock()

    def work(number: int) -> None:
        nonlocal inside, most
        with (locks if number % 2 else others).hold("volume-1"):
            with count:
                inside += 1
                most = max(most, inside)
            time.sleep(0.002)
            with count:
                inside -= 1

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(64)))
    assert most == 1


def test_different_names_do_not_wait(locks: Locks) -> None:
    with locks.hold("volume-1"), locks.hold("volume-2", timeout=1):
        pass


def test_waiting_has_an_end(locks: Locks, others: Locks) -> None:
    with locks.hold("volume-1"):
        began = time.monotonic()
        with (
            pytest.raises(LockTimeout, match=r"volume-1 was not free within 0\.2 s"),
            others.hold("volume-1", timeout=0.2),
        ):
            raise AssertionError("two hold the lock")
        assert time.monotonic() - began < 2
        with pytest.raises(LockTimeout), others.hold("volume-1", timeout=0):
            raise AssertionError("two hold the lock")
    with others.hold("volume-1", timeout=1):
        pass


def test_an_exception_lets_go(locks: Locks, others: Locks) -> None:
    with pytest.raises(RuntimeError, match="inside"), locks.hold("volume-1"):
        raise RuntimeError("inside")
    with others.hold("volume-1", timeout=1):
        pass


def test_a_killed_process_holds_nothing(locks: Locks, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=root
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LockTimeout), locks.hold("volume-1", timeout=0.2):
            raise AssertionError("two hold the lock")
        holder.kill()
    with locks.hold("volume-1", timeout=5):
        pass


def test_a_failed_attempt_never_ends_the_lock_of_another_thread(locks: Locks, tmp_path: Path) -> None:
    """POSIX drops all locks that a process has on a file when any of its handles on it is closed."""
    path = tmp_path / "coordination" / "pumice-volume-1"
    with holding(path) as let_go:
        with pytest.raises(LockTimeout) as failed, locks.hold("volume-1", timeout=0.1):
            raise AssertionError("two hold the lock")
        let_go()
    with locks.hold("volume-1", timeout=5):
        del failed
        gc.collect()
        assert not free_for_another_process(path)
    assert free_for_another_process(path)


def test_processes_take_turns_and_leave_no_file(tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")
    command = [sys.executable, "-W", "ignore", "-c", COUNTER, str(tmp_path)]
    root = Path(__file__).parents[2]
    counters = [subprocess.Popen(command, cwd=root) for _ in range(3)]
    assert [counter.wait(60) for counter in counters] == [0, 0, 0]
    assert (tmp_path / "count").read_text() == "150"
    assert not (tmp_path / "coordination" / "pumice-volume-1").exists()
