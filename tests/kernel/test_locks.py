from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from oslo_config import cfg

from pumice.kernel import locks as kernel_locks
from pumice.kernel.locks import Locks, LockTimeout
from tests.support.servers.coordination import Etcd, ZooKeeper
from tests.support.waiting import LONG

LEASE, OUTAGE = 3, 4
STEADY = 60
"""Seconds of the lease where none is to run out, though the machine stand still for a while."""
real = pytest.mark.real
pytestmark = [
    # kazoo leaves its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

HOLDER = """
import sys, time
from pumice.kernel.locks import Locks
from tests.kernel.test_locks import configured
locks = Locks(configured(sys.argv[1]))
locks.start()
with locks.hold("volume-1"):
    print("held", flush=True)
    time.sleep(300)
"""

COUNTER = """
import pathlib, sys
from pumice.kernel.locks import Locks
from tests.kernel.test_locks import configured
locks, file = Locks(configured(sys.argv[1])), pathlib.Path(sys.argv[2])
locks.start()
for _ in range(25):
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
            other.communicate(timeout=LONG)

        yield let_go


def free_for_another_process(path: Path) -> bool:
    return subprocess.run([sys.executable, "-c", TRY, str(path)], capture_output=True, check=False).returncode == 0


def configured(where: str) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.StrOpt("host", default="h"))
    conf.register_opt(cfg.StrOpt("backend_url", default=where), group="coordination")
    conf([], default_config_files=[])
    return conf


def url_of(directory: Path) -> str:
    return f"file://{directory}/coordination"


@pytest.fixture(params=["file", pytest.param("etcd", marks=real), pytest.param("zookeeper", marks=real)])
def at(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[int], str]:
    """The URL of a kind of lock service, by the lease that is asked for."""
    if request.param == "file":
        return lambda _lease: url_of(tmp_path)
    server: Etcd | ZooKeeper = request.getfixturevalue(request.param)
    return server.url


@pytest.fixture
def url(at: Callable[[int], str]) -> str:
    return at(STEADY)


@contextmanager
def started(url: str) -> Iterator[Locks]:
    locks = Locks(configured(url))
    locks.start()
    yield locks
    locks.stop()


@pytest.fixture
def locks(url: str) -> Iterator[Locks]:
    with started(url) as locks:
        yield locks


@pytest.fixture
def others(url: str) -> Iterator[Locks]:
    """Another worker in the same process."""
    with started(url) as locks:
        yield locks


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
    with locks.hold("volume-1"), locks.hold("volume-2", timeout=LONG):
        pass


def test_waiting_has_an_end(locks: Locks, others: Locks) -> None:
    with locks.hold("volume-1"):
        began = time.monotonic()
        with (
            pytest.raises(LockTimeout, match=r"volume-1 was not free within 0\.2 s"),
            others.hold("volume-1", timeout=0.2),
        ):
            raise AssertionError("two hold the lock")
        assert time.monotonic() - began < LONG
        with pytest.raises(LockTimeout), others.hold("volume-1", timeout=0):
            raise AssertionError("two hold the lock")
    with others.hold("volume-1", timeout=LONG):
        pass


def test_an_exception_lets_go(locks: Locks, others: Locks) -> None:
    with pytest.raises(RuntimeError, match="inside"), locks.hold("volume-1"):
        raise RuntimeError("inside")
    with others.hold("volume-1", timeout=LONG):
        pass


def test_a_killed_process_holds_nothing_for_long(locks: Locks, at: Callable[[int], str]) -> None:
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", HOLDER, at(LEASE)], stdout=subprocess.PIPE, text=True, cwd=root
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LockTimeout), locks.hold("volume-1", timeout=0.2):
            raise AssertionError("two hold the lock")
        holder.kill()
    with locks.hold("volume-1", timeout=LEASE + LONG):
        pass


def test_a_failed_attempt_never_ends_the_lock_of_another_thread(tmp_path: Path) -> None:
    """POSIX drops all locks that a process has on a file when any of its handles on it is closed."""
    path = tmp_path / "coordination" / "pumice-volume-1"
    with started(url_of(tmp_path)) as locks:
        with holding(path) as let_go:
            with pytest.raises(LockTimeout) as failed, locks.hold("volume-1", timeout=0.1):
                raise AssertionError("two hold the lock")
            let_go()
        with locks.hold("volume-1", timeout=LONG):
            del failed
            gc.collect()
            assert not free_for_another_process(path)
    assert free_for_another_process(path)


def test_processes_take_turns_and_leave_no_file(tmp_path: Path, url: str) -> None:
    count = tmp_path / "count"
    count.write_text("0")
    command = [sys.executable, "-W", "ignore", "-c", COUNTER, url, str(count)]
    root = Path(__file__).parents[2]
    counters = [subprocess.Popen(command, cwd=root) for _ in range(3)]
    assert [counter.wait(120) for counter in counters] == [0, 0, 0]
    assert count.read_text() == "75"
    assert not (tmp_path / "coordination" / "pumice-volume-1").exists()


@pytest.fixture(params=["etcd", "zookeeper"])
def server(request: pytest.FixtureRequest) -> Iterator[Etcd | ZooKeeper]:
    server: Etcd | ZooKeeper = request.getfixturevalue(request.param)
    yield server
    server.kill()
    server.start()


@real
def test_a_lock_service_that_is_away_loses_nothing(server: Etcd | ZooKeeper) -> None:
    url = server.url(lock_timeout=LEASE)
    back = threading.Timer(OUTAGE, server.start)
    with started(url) as locks, started(url) as others:
        with locks.hold("volume-1"):
            server.kill()
            killed = time.monotonic()
            back.start()
            # With etcd it ends in time, with ZooKeeper when that is back.
            with suppress(LockTimeout), others.hold("volume-2", timeout=1):
                assert time.monotonic() - killed >= OUTAGE
        back.join()
        # What could not be given back is not kept alive either.
        with others.hold("volume-1", timeout=LEASE + LONG):
            pass
        with locks.hold("volume-2", timeout=LONG):
            pass


@real
def test_a_worker_ends_without_its_lock_service(server: Etcd | ZooKeeper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_locks, "STOP_SECONDS", 2.0)
    with started(server.url(lock_timeout=LEASE)) as locks:
        with locks.hold("volume-1", timeout=LONG):
            pass
        server.kill()
        time.sleep(LEASE)  # long enough for its heart to have noticed
        began = time.monotonic()
    assert time.monotonic() - began < LONG
