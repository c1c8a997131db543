"""`pumice up` as it is installed: a volume's data over iSCSI, kept over a stop and over a kill."""

from __future__ import annotations

import signal
import subprocess
import time
import uuid

import openstack
import pytest

from tests.standalone.small import PUMICE, await_answer, words_until
from tests.support.waiting import patience

INITIATOR = "iqn.2026-11.example:here"


@pytest.fixture
def cloud(settings):
    def connect(name="pumice"):
        found = openstack.config.OpenStackConfig(config_files=[str(settings.data_directory / "clouds.yaml")])
        made.append(openstack.connection.Connection(config=found.get_one(cloud=name)))
        return made[-1].block_storage

    made = []
    yield connect
    for connection in made:
        connection.close()


def qemu_io(connection, secret, *commands):
    """Runs qemu-io's commands on the disk of a connection; gives what it said."""
    secret.write_text(connection["auth_password"])
    facts = {
        "driver": "iscsi",
        "transport": "tcp",
        "portal": connection["target_portal"],
        "target": connection["target_iqn"],
        "lun": connection["target_lun"],
        "user": connection["auth_username"],
        "password-secret": "chap",
        "initiator-name": INITIATOR,
    }
    done = subprocess.run(
        ["qemu-io", "--object", f"secret,id=chap,file={secret}", "--image-opts"]
        + [",".join(f"{name}={value}" for name, value in facts.items())]
        + [part for command in commands for part in ("-c", command)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def attach(storage, volume):
    connector = {"initiator": INITIATOR, "ip": "127.0.0.1", "host": "here"}
    attachment = storage.create_attachment(volume, connector=connector, instance=str(uuid.uuid4()))
    storage.complete_attachment(attachment)
    return attachment.connection_info


@pytest.mark.real
def test_a_volume_keeps_its_data_and_its_export(launch, settings, cloud, tmp_path):
    begin = time.monotonic()
    process = launch(PUMICE)
    await_answer(settings, process)
    assert time.monotonic() - begin < patience(30)
    storage = cloud()
    volume = storage.wait_for_status(storage.create_volume(size=1, name="test"), "available", wait=60)
    connection = attach(storage, volume)
    secret = tmp_path / "secret"
    qemu_io(connection, secret, "write -P 7 0 1M")

    process.send_signal(signal.SIGTERM)
    said, complaints = process.communicate(timeout=90)
    assert (process.returncode, complaints) == (0, ""), said
    for end in (signal.SIGTERM, signal.SIGKILL):
        begin = time.monotonic()
        process = launch(PUMICE)
        await_answer(settings, process)
        assert time.monotonic() - begin < patience(10)
        assert storage.get_volume(volume).status == "in-use"
        assert "verification failed" not in qemu_io(connection, secret, "read -P 7 0 1M")
        process.send_signal(end)
        process.communicate(timeout=90)

    # Killed: tgtd goes on serving, and the next start knows of it.
    assert "verification failed" not in qemu_io(connection, secret, "read -P 7 0 1M")
    await_answer(settings, launch(PUMICE))
    assert "verification failed" not in qemu_io(connection, secret, "read -P 7 0 1M")


@pytest.mark.real
def test_a_user_sees_only_what_is_its_own(launch, settings, cloud):
    await_answer(settings, launch(PUMICE))
    admin, demo = cloud(), cloud("pumice-demo")
    volume = admin.wait_for_status(admin.create_volume(size=1), "available", wait=60)
    assert [found.id for found in admin.volumes()] == [volume.id]
    assert list(demo.volumes()) == []
    with pytest.raises(openstack.exceptions.NotFoundException):
        demo.get_volume(volume.id)


@pytest.mark.real
def test_a_wrong_option_of_ones_own_is_named(launch, settings):
    settings.data_directory.mkdir()
    (settings.data_directory / "local.conf").write_text("[DEFAULT]\nreport_interval = often\n")
    process = launch(PUMICE)
    _, complaints = process.communicate(timeout=90)
    assert process.returncode == 2
    assert complaints.startswith("Error: [DEFAULT] report_interval = often is refused")
    assert complaints.count("\n") == 1


@pytest.mark.real
def test_volumes_on_a_backend_that_is_not_enabled_any_more_are_told_of(launch, settings, cloud):
    process = launch(PUMICE)
    await_answer(settings, process)
    storage = cloud()
    storage.wait_for_status(storage.create_volume(size=1), "available", wait=60)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=90)
    own = settings.data_directory / "local.conf"
    own.write_text("[DEFAULT]\nenabled_backends = gold\n[gold]\nvolume_driver = simulated\n")
    process = launch(PUMICE)
    await_answer(settings, process)
    said = words_until("Ctrl-C", process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=90)
    assert f"pumice@file, where volumes lie (1): add file to enabled_backends in {own}" in " ".join(said.split())
    log = (settings.data_directory / "pumice.log").read_text()
    assert "1 resources lie on pumice@file, which is not among the backends that are enabled here" in log
