from __future__ import annotations

import os
import re
import socket
import threading
import time

import pytest

from pumice.standalone import ports
from pumice.standalone.errors import StandaloneError
from tests.support.waiting import LONG


@pytest.fixture
def taken():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        yield server


def test_a_taken_port_is_reported_with_its_holder_and_the_way_out(taken):
    port = taken.getsockname()[1]
    with pytest.raises(StandaloneError) as refused:
        ports.require_free("127.0.0.1", ports.Wanted(port, "Keystone", "--keystone-port", 9500))
    assert f"port {port} for Keystone is taken by " in str(refused.value)
    assert f"(process {os.getpid()})" in str(refused.value)
    assert str(refused.value).endswith(f": stop that, or try --keystone-port {ports.next_free('127.0.0.1', 9500)}")


def test_all_taken_ports_are_told_at_once(taken):
    port = taken.getsockname()[1]
    with socket.create_server(("127.0.0.1", 0)) as other:
        second = other.getsockname()[1]
        wanted = (
            ports.Wanted(port, "the Block Storage API", "--port", 9776),
            ports.Wanted(ports.next_free("127.0.0.1", 9700), "iSCSI", "--iscsi-port", 9260),
            ports.Wanted(second, "Keystone", "--keystone-port", 9500),
        )
        with pytest.raises(StandaloneError) as refused:
            ports.require_free("127.0.0.1", *wanted)
    text = str(refused.value)
    assert text.startswith(f"port {port} for the Block Storage API is taken by ")
    assert f", port {second} for Keystone is taken by " in text
    assert re.search(r": stop that, or try --port \d+ --keystone-port \d+$", text)


def test_a_port_that_comes_free_in_time_is_waited_for(taken):
    threading.Timer(0.2, taken.close).start()
    begin = time.monotonic()
    port = taken.getsockname()[1]
    ports.require_free("127.0.0.1", ports.Wanted(port, "Keystone", "--keystone-port", 9500, patience=LONG))
    assert time.monotonic() - begin < LONG


def test_the_next_free_port_is_not_the_taken_one(taken):
    port = taken.getsockname()[1]
    assert port < ports.next_free("127.0.0.1", port) <= port + 99


def test_an_address_of_another_machine_is_refused_in_one_line():
    with pytest.raises(StandaloneError, match=r"cannot listen on 192\.0\.2\.1:8776"):
        ports.is_free("192.0.2.1", 8776)
