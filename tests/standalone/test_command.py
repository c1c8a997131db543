"""`pumice up` as a process: its words, its signals, and what is left when it is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest

from pumice.block.drivers.tgtd import Mode, Op, Tgtd
from pumice.standalone import command
from pumice.standalone.up import Standalone
from tests.standalone.conftest import SMALL
from tests.standalone.small import PUMICE, SmallService, await_answer, words_until


@pytest.mark.real
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(launch, settings, number):
    process = launch()
    await_answer(settings, process)
    children = psutil.Process(process.pid).children(recursive=True)
    assert {"tgtd"} < {child.name() for child in children}
    banner = words_until("Ctrl-C", process)
    process.send_signal(number)
    said, complaints = process.communicate(timeout=90)
    assert process.returncode == 0
    assert complaints == ""
    assert f"http://127.0.0.1:{settings.port}/v3" in banner
    assert "--os-cloud pumice volume create --size 1 test" in banner
    assert said.endswith("Stopped. All is kept.\n")
    assert not any(child.is_running() for child in children)
    assert not (settings.data_directory / "storage").is_mount()


@pytest.mark.real
def test_what_is_ignored_at_its_start_does_not_end_it(launch, settings):
    process = launch(["env", "--ignore-signal=INT", "--ignore-signal=HUP", *SMALL])
    await_answer(settings, process)
    for number in (signal.SIGINT, signal.SIGHUP):
        process.send_signal(number)
    words_until("Ctrl-C", process)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=90)
    assert said.endswith("Stopped. All is kept.\n")


def test_a_wait_that_is_interrupted_is_no_signal():
    waits = "from pumice.standalone import command\nprint(flush=True)\nwhile not command._received([15]): pass"
    with subprocess.Popen([sys.executable, "-c", waits], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        for _ in range(6):  # stopped for longer than a wait takes, so that each is over as it is interrupted
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.6)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.1)
        ended = process.poll()
        process.kill()
    assert ended is None


def test_clouds_yaml_is_that_of_who_called_sudo(monkeypatch):
    monkeypatch.setenv("SUDO_USER", "games")
    said = subprocess.run([*PUMICE, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    assert "~games/.config/openstack/clouds.yaml" in " ".join(said.split())


def test_who_sent_a_signal_is_told():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    try:
        signal.raise_signal(signal.SIGUSR1)
        received = signal.sigtimedwait([signal.SIGUSR1], 5)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert command._sender(received) == f"{psutil.Process().name()} (process {os.getpid()})"


@pytest.mark.real
def test_after_a_kill_the_next_start_takes_over(launch, settings):
    process = launch()
    await_answer(settings, process)
    tgtd = Tgtd(str(settings.data_directory / "tgtd" / "socket.0"))
    tgtd.call(Mode.TARGET, Op.NEW, 1, parameters="targetname=iqn.2026-11.org.pumice:one")
    (settings.data_directory / "storage" / "kept").write_text("data")
    process.kill()
    process.communicate()
    with Standalone(settings, SmallService) as running:
        assert (running.storage.path / "kept").read_text() == "data"
        assert [target.name for target in tgtd.targets()] == ["iqn.2026-11.org.pumice:one"]
        assert running.keystone.admin.token()
    assert not running.storage.path.is_mount()
    assert not running.target.alive


@pytest.mark.real
def test_a_second_one_says_in_one_line_that_the_first_runs(launch, settings):
    first = launch()
    await_answer(settings, first)
    second = launch()
    _, complaints = second.communicate(timeout=90)
    assert second.returncode == 1
    assert complaints == f"Error: `pumice up` already runs on {settings.data_directory} (process {first.pid})\n"


def test_a_disk_that_is_too_small_is_one_line(launch):
    process = launch(**{"storage-size": 1_000_000})
    _, complaints = process.communicate(timeout=90)
    assert process.returncode == 1
    assert complaints.startswith("Error: the disk of ")
    assert complaints.count("\n") == 1


@pytest.mark.parametrize(
    ("host", "reason"), [("0.0.0.0", "no address that clients could"), ("here", "no IPv4 address")]
)
def test_an_address_that_cannot_be_told_to_clients_is_refused(launch, host, reason):
    process = launch(host=host)
    _, complaints = process.communicate(timeout=90)
    assert process.returncode == 2
    assert f"Invalid value for '--host': {host} is {reason}" in complaints


def test_a_taken_port_is_one_line_that_names_its_holder(launch, settings):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", settings.keystone_port))
        taken.listen(1)
        process = launch()
        _, complaints = process.communicate(timeout=90)
    assert process.returncode == 1
    assert complaints.startswith(f"Error: port {settings.keystone_port} for Keystone is taken by ")
    assert f"(process {os.getpid()}): stop that, or try --keystone-port" in complaints


@pytest.mark.real
def test_what_was_not_foreseen_is_one_line_too(launch, settings):
    settings.data_directory.mkdir()
    (settings.data_directory / "block.db").write_text("this is no database" * 100)
    process = launch(PUMICE)
    _, complaints = process.communicate(timeout=90)
    assert process.returncode == 1
    assert complaints.startswith("Error: DBError: (sqlite3.DatabaseError) file is not a database")
    assert complaints.endswith(f"(see {settings.data_directory}/pumice.log)\n")
    assert complaints.count("\n") == 1
    assert "Traceback" in (settings.data_directory / "pumice.log").read_text()
