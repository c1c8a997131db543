"""All of standalone with a real Keystone, btrfs and tgtd, and a small service in the place of ours."""

from __future__ import annotations

import io
import os
import signal
import socket
import stat
import time
from pathlib import Path

import openstack
import pytest
import requests
import yaml
from rich.console import Console

from pumice.standalone import clouds, command
from pumice.standalone.errors import StandaloneError
from pumice.standalone.keystone import Keystone
from pumice.standalone.up import Standalone
from tests.standalone.small import SmallService
from tests.support.ports import free_port
from tests.support.waiting import patience


@pytest.mark.real
def test_everything_answers_and_all_is_kept_over_a_stop(settings, clean, monkeypatch):
    monkeypatch.delenv("OS_CLIENT_CONFIG_FILE", raising=False)
    monkeypatch.chdir(settings.data_directory.parent)
    begin = time.monotonic()
    with Standalone(settings, SmallService) as running:
        first_start = time.monotonic() - begin
        assert requests.get(f"{running.url}/v3", timeout=30).json()["path"] == "/v3"
        assert running.service.calls == ["start", "restore"]
        assert running.clouds_found
        assert_two_clouds(settings)
        (running.storage.path / "kept").write_text("data")
        restarts_children(running)
    assert running.service.calls[-1] == "stop"
    assert not running.storage.path.is_mount()
    assert_private(settings.data_directory)
    assert "/etc/keystone" not in (settings.data_directory / "keystone" / "keystone.log").read_text()

    begin = time.monotonic()
    with Standalone(settings, SmallService) as again:
        second_start = time.monotonic() - begin
        assert (again.storage.path / "kept").read_text() == "data"
        assert again.target.port == settings.iscsi_port
        assert_two_clouds(settings)
    assert first_start < patience(30)
    assert second_start < patience(10)


def assert_two_clouds(settings):
    projects = set()
    for name, roles in (("pumice", {"admin", "manager", "member", "reader"}), ("pumice-demo", {"member", "reader"})):
        config = openstack.config.OpenStackConfig(config_files=[str(settings.user_clouds)])
        with openstack.connection.Connection(config=config.get_one(cloud=name)) as cloud:
            access = cloud.session.auth.get_access(cloud.session)
            projects.add(cloud.current_project_id)
            assert set(access.role_names) == roles
            for kind in ("block-storage", "volumev3"):
                url = access.service_catalog.url_for(service_type=kind)
                assert url == f"http://127.0.0.1:{settings.port}/v3/{cloud.current_project_id}"
    assert len(projects) == 2


def restarts_children(running):
    children = (running.target._process, running.keystone._process)
    for child in children:
        os.kill(child.pid, signal.SIGKILL)
        child.wait(30)
    deadline = time.monotonic() + patience(10)
    while not (running.target.alive and running.keystone.alive and len(running.service.calls) > 2):
        assert time.monotonic() < deadline
        running.mind()
        time.sleep(0.05)
    assert running.service.calls == ["start", "restore", "restore"]
    assert running.keystone.admin.token()


def assert_private(directory: Path):
    """Nobody else can read anything: the directory is closed, and what holds secrets is so itself."""
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    secret = ["block.conf", "clouds.yaml", "keystone/passwords.json", "keystone/keystone.db", "keystone/keystone.conf"]
    assert {stat.S_IMODE((directory / name).stat().st_mode) for name in secret} == {0o600}


def test_a_taken_port_stops_it_before_anything_is_made(settings, clean):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", settings.port))
        taken.listen(1)
        with pytest.raises(StandaloneError, match=rf"port {settings.port} for the Block Storage API .*--port"):
            Standalone(settings, SmallService).__enter__()
    assert not (settings.data_directory / "storage.btrfs").exists()


@pytest.mark.real
def test_the_names_of_another_that_runs_are_left_to_it(settings, clean, tmp_path, monkeypatch):
    monkeypatch.delenv("OS_CLIENT_CONFIG_FILE", raising=False)
    with Keystone(tmp_path / "other", free_port()) as other:
        entry = clouds.entry(other.admin)
        clouds.merge(settings.user_clouds, {"pumice": entry})
        with Standalone(settings, SmallService) as running:
            assert (running.rival, running.clouds_found) == (other.auth_url, False)
            console = Console(file=io.StringIO(), width=200)
            console.print(command.banner(running))
            said = console.file.getvalue()
            assert f"for {other.auth_url}, which answers; --cloud NAME" in said
            assert f"OS_CLIENT_CONFIG_FILE={running.directory.clouds}" in said
    assert yaml.safe_load(settings.user_clouds.read_text())["clouds"] == {"pumice": entry}


def test_a_failed_start_leaves_nothing_running(settings, clean):
    def broken(files):
        raise StandaloneError("cannot be made")

    standalone = Standalone(settings, broken)
    with pytest.raises(StandaloneError, match="cannot be made"):
        standalone.__enter__()
    assert not standalone.keystone.alive
    assert not standalone.target.alive
    assert not standalone.directory.storage.is_mount()
    standalone.directory.acquire()
    standalone.directory.release()


@pytest.mark.real
def test_keystone_says_why_it_did_not_start(tmp_path):
    keystone = Keystone(tmp_path / "keystone", free_port())
    keystone.prepare()
    (keystone.directory / "keystone.db").write_text("no database")
    with pytest.raises(StandaloneError, match=r"Keystone ended while starting: keystone-manage db_sync failed"):
        keystone.start()
