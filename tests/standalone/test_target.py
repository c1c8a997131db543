from __future__ import annotations

import os
import signal
import socket

import pytest

from pumice.block.drivers.tgtd import Mode, Op, Tgtd
from pumice.standalone.errors import StandaloneError
from pumice.standalone.target import TargetDaemon
from tests.support.ports import free_port
from tests.support.waiting import eventually


@pytest.fixture
def make(tmp_path):
    made = []

    def daemon(port=None, directory=tmp_path):
        made.append(TargetDaemon(directory, "127.0.0.1", port))
        return made[-1]

    yield daemon
    for daemon in made:
        daemon.stop()


def client(daemon):
    return Tgtd(f"{daemon.socket}.0")


def await_death(daemon):
    eventually(lambda: not daemon.alive)


def test_it_listens_on_its_portal_and_ends_with_targets_in_it(make):
    daemon = make(free_port())
    assert daemon.start()
    socket.create_connection(("127.0.0.1", daemon.port), 5).close()
    client(daemon).call(Mode.TARGET, Op.NEW, 1, parameters="targetname=iqn.2026-11.org.pumice:one")
    daemon.stop()
    assert not daemon.alive
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", daemon.port), 5)


def test_one_that_died_is_started_again(make):
    daemon = make(free_port())
    daemon.start()
    assert not daemon.check()
    os.kill(daemon._process.pid, signal.SIGKILL)
    await_death(daemon)
    assert daemon.check()
    assert daemon.alive
    assert list(client(daemon).targets()) == []


def test_one_that_keeps_dying_is_not_started_all_the_time(make):
    daemon = make(free_port())
    daemon.start()
    for started_again in (True, False):
        os.kill(daemon._process.pid, signal.SIGKILL)
        await_death(daemon)
        assert daemon.check() is started_again


def test_one_that_outlived_its_parent_is_taken_over_with_its_targets(make):
    first = make(free_port())
    first.start()
    client(first).call(Mode.TARGET, Op.NEW, 1, parameters="targetname=iqn.2026-11.org.pumice:one")
    second = make()
    assert not second.start()
    assert second.port == first.port
    assert [target.name for target in client(second).targets()] == ["iqn.2026-11.org.pumice:one"]
    second.stop()
    await_death(first)


def test_one_on_another_port_than_wanted_is_replaced(make):
    first = make(free_port())
    first.start()
    second = make(free_port())
    assert second.start()
    await_death(first)


def test_the_port_is_kept_and_a_taken_one_refused(make):
    first = make(free_port())
    first.start()
    first.stop()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", first.port))
        taken.listen(1)
        with pytest.raises(StandaloneError, match=rf"port {first.port} for iSCSI is taken .*--iscsi-port"):
            make().start()
    assert make().port == first.port


def test_a_long_path_gets_a_short_socket(make, tmp_path):
    long = tmp_path / ("long" * 25)
    long.mkdir()
    daemon = make(free_port(), long)
    assert daemon.start()
    assert list(client(daemon).targets()) == []
    daemon.stop()
    assert len(str(daemon.socket)) < 100
