"""What is written over iSCSI is what is read: through snapshots, clones, reverts, growth, and crashes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from typing import Any

import pytest

from tests.acceptance.running import Member, Pumice
from tests.support.iscsi import INITIATOR, qemu_io, size_of, writing
from tests.support.waiting import LONG, eventually

pytestmark = pytest.mark.real

GIB = 2**30
FIRST, SECOND = "0x11", "0x22"

Info = dict[str, Any]


def write(info: Info, pattern: str, initiator: str = INITIATOR) -> None:
    done = qemu_io({"data": info}, f"write -P {pattern} 1M 4M", f"write -P {pattern} 1020M 1M", initiator=initiator)
    assert done.returncode == 0, done.stderr


def reads(info: Info, pattern: str, initiator: str = INITIATOR) -> bool:
    """Whether a new session, one that only reads, reads what `write` wrote."""
    commands = (f"read -P {pattern} 1M 4M", f"read -P {pattern} 1020M 1M")
    done = qemu_io({"data": info}, *commands, initiator=initiator, read_only=True)
    assert "read 4194304/4194304 bytes" in done.stdout, done.stdout + done.stderr
    return done.returncode == 0 and "verification failed" not in done.stdout


def libiscsi(tool: str, info: Info, initiator: str = INITIATOR, password: str | None = None) -> tuple[int, str]:
    """Exit code and output of one of libiscsi's tools on the disk."""
    login = f"{info['auth_username']}%{password or info['auth_password']}"
    url = f"iscsi://{login}@{info['target_portal']}/{info['target_iqn']}/{info['target_lun']}"
    done = subprocess.run([tool, "-i", initiator, url], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def volume(member: Member) -> str:
    return member.make(size=1)


@pytest.fixture
def attached(member: Member, volume: str) -> Info:
    return member.attach(volume)


def test_a_snapshot_keeps_what_is_overwritten_later(member: Member, volume: str) -> None:
    info = member.attach(volume)
    write(info, FIRST)
    snapshot = member.make("snapshot", volume_id=volume)
    write(info, SECOND)

    begin = time.monotonic()
    clone = member.make(snapshot_id=snapshot)
    assert time.monotonic() - begin < LONG
    of_clone = member.attach(clone)
    assert reads(of_clone, FIRST)
    assert reads(info, SECOND)
    write(of_clone, "0x33")
    assert reads(info, SECOND)
    copy = member.make(source_volid=clone)
    for one in (info, of_clone):
        member.detach(one)
    member.rests("volume", volume, "available")

    of_copy = member.attach(copy)
    assert reads(of_copy, "0x33")
    member.act(volume, "revert", {"snapshot_id": snapshot}, "available")
    again = member.attach(volume)
    assert again["auth_password"] != info["auth_password"]
    assert reads(again, FIRST)


def test_a_volume_grows_detached_and_in_use(member: Member, volume: str) -> None:
    member.act(volume, "os-extend", {"new_size": 2}, "available")
    info = member.attach(volume)
    assert size_of({"data": info}) == 2 * GIB
    write(info, FIRST)
    with writing({"data": info}) as session:
        member.act(volume, "os-extend", {"new_size": 3}, "in-use")
        assert size_of({"data": info}) == 3 * GIB
        assert session.poll() in (None, 0)
    assert "RETURNED LOGICAL BLOCK ADDRESS:6291455" in libiscsi("iscsi-readcapacity16", info)[1]
    assert member.ok("GET", f"/volumes/{volume}")["volume"]["size"] == 3


def test_a_wrong_password_and_a_wrong_initiator_are_refused(attached: Info) -> None:
    write(attached, FIRST)
    assert libiscsi("iscsi-inq", attached)[0] == 0
    stranger = "iqn.2026-01.org.example:stranger"
    for refused in (
        libiscsi("iscsi-inq", attached, password="wrong-password"),
        libiscsi("iscsi-inq", attached, initiator=stranger),
    ):
        assert refused[0] != 0, refused
    for wrong in ({"password": "wrong-password"}, {"initiator": stranger}):
        done = qemu_io({"data": attached}, "read 0 512", **wrong)
        assert done.returncode != 0
        assert "read 512" not in done.stdout


def test_after_its_attachment_nothing_of_it_is_exported(pumice: Pumice, member: Member, volume: str) -> None:
    info = member.attach(volume)
    assert info["target_iqn"] in pumice.targets()
    assert INITIATOR in pumice.targets()
    member.detach(info)
    assert pumice.targets() == ""
    assert member.status("volume", volume) == "available"
    assert libiscsi("iscsi-inq", info)[0] != 0


def test_two_servers_share_a_volume_and_a_reader_cannot_write(pumice: Pumice, member: Member) -> None:
    admin = pumice.cinder("admin")
    shared = admin.volume_types.create("shared")
    shared.set_keys({"multiattach": "<is> True"})
    volume = member.make(size=1, volume_type=shared.id)
    neighbour = "iqn.2026-01.org.example:neighbour"
    first, second = member.attach(volume), member.attach(volume, neighbour, mode="ro")
    assert first["target_iqn"] != second["target_iqn"]
    assert (first["access_mode"], second["access_mode"]) == ("rw", "ro")

    write(first, FIRST)
    assert reads(second, FIRST, initiator=neighbour)
    refused = qemu_io({"data": second}, "write -P 0x44 1M 64k", initiator=neighbour)
    assert "write protected" in refused.stderr
    assert reads(first, FIRST)

    member.detach(first)
    assert member.status("volume", volume) == "in-use"
    assert libiscsi("iscsi-inq", first)[0] != 0
    assert reads(second, FIRST, initiator=neighbour)
    member.clear()
    admin.volume_types.delete(shared)


def test_the_older_actions_attach_as_well(pumice: Pumice, member: Member, volume: str) -> None:
    volumes = pumice.cinder("demo", "3.0").volumes
    connector = {"initiator": INITIATOR, "host": "here"}
    volumes.reserve(volume)
    answer = volumes.initialize_connection(volume, connector)
    assert answer["driver_volume_type"] == "iscsi"
    info = answer["data"]
    volumes.attach(volume, str(uuid.uuid4()), "/dev/vdb")
    assert member.status("volume", volume) == "in-use"
    write(info, FIRST)
    assert reads(info, FIRST)

    volumes.begin_detaching(volume)
    volumes.terminate_connection(volume, connector)
    assert pumice.targets() == ""
    volumes.detach(volume)
    assert member.status("volume", volume) == "available"


def test_what_a_server_uses_is_not_taken_from_it_by_a_user(pumice: Pumice, member: Member, volume: str) -> None:
    body = {"volume_uuid": volume, "instance_uuid": str(uuid.uuid4())}
    connector = {"initiator": INITIATOR, "host": "here"}
    made = member.ok("POST", "/attachments", {"attachment": {**body, "connector": connector}})["attachment"]
    assert pumice.ask("DELETE", f"/attachments/{made['id']}").status_code == 409
    assert made["connection_info"]["target_iqn"] in pumice.targets()

    compute = pumice.keystone.login("pumice", "service").token()
    assert pumice.ask("DELETE", f"/attachments/{made['id']}", service_token=compute).status_code == 200
    assert pumice.targets() == ""


def test_an_export_comes_back_when_tgtd_is_killed(pumice: Pumice, attached: Info) -> None:
    write(attached, FIRST)
    before = pumice.tgtd_pid()
    assert before
    os.kill(before, signal.SIGKILL)
    eventually(lambda: libiscsi("iscsi-inq", attached)[0] == 0)
    assert pumice.tgtd_pid() not in (None, before)
    assert reads(attached, FIRST)
    assert libiscsi("iscsi-inq", attached, password="wrong-password")[0] != 0


def test_all_is_kept_when_everything_is_killed(pumice: Pumice, member: Member, volume: str) -> None:
    info = member.attach(volume)
    write(info, FIRST)
    snapshot = member.make("snapshot", volume_id=volume)
    write(info, SECOND)
    clone = member.make(snapshot_id=snapshot)
    seen = everything(member)

    # Pumice alone: tgtd goes on serving, and the next start takes it over with its sessions.
    tgtd = pumice.tgtd_pid()
    assert tgtd
    with writing({"data": info}, mebibytes=100) as session:
        pumice.end(signal.SIGKILL)
        assert pumice.tgtd_pid() == tgtd
        assert last_reads(info, SECOND)
        pumice.start()
        assert pumice.tgtd_pid() == tgtd
        assert everything(member) == seen
        said, _ = session.communicate(timeout=60)
        assert session.returncode == 0, said
    write(info, SECOND)

    # Both, with an operation under way: a new tgtd exports the same.
    growing = member.make(size=1)
    begun = pumice.ask("POST", f"/volumes/{growing}/action", {"os-extend": {"new_size": 2}})
    pumice.end(signal.SIGKILL)
    os.kill(tgtd, signal.SIGKILL)
    pumice.start()
    assert begun.status_code == 202
    member.rests("volume", growing, "available")
    member.ok("DELETE", f"/volumes/{growing}")
    member.rests("volume", growing, "gone")
    assert everything(member) == seen
    assert reads(info, SECOND)
    of_clone = member.attach(clone)
    assert reads(of_clone, FIRST)
    for one in (info, of_clone):
        member.detach(one)
    assert pumice.targets() == ""


def last_reads(info: Info, pattern: str) -> bool:
    """Whether the part reads so that lies beyond what `writing` writes."""
    return qemu_io({"data": info}, f"read -P {pattern} 1020M 1M").returncode == 0


def everything(member: Member) -> dict[str, Any]:
    """All that the member has, and what of its quota is used."""
    parts = ("volumes", "snapshots", "attachments")
    found = {part: member.ok("GET", f"/{part}/detail")[part] for part in parts}
    return found | member.ok("GET", "/limits")["limits"]["absolute"]
