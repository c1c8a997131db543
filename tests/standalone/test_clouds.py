from __future__ import annotations

import os
import socket
import threading

import pytest
import yaml

from pumice.standalone import clouds
from pumice.standalone.keystone import Login

ENTRY = clouds.entry(Login("http://127.0.0.1:5000/v3", "admin", "word", "admin"))

FOREIGN = """\
# my clouds
clouds:
  work:   # the one at work
    auth: {auth_url: 'https://work.example/v3', username: "me"}
    region_name: Two
"""


def test_a_missing_file_is_made_for_its_owner_alone(tmp_path):
    path = tmp_path / "openstack" / "clouds.yaml"
    assert clouds.merge(path, {"pumice": ENTRY})
    assert path.stat().st_mode & 0o777 == 0o600
    assert yaml.safe_load(path.read_text()) == {"clouds": {"pumice": ENTRY}}


def test_what_root_makes_in_somebodys_home_is_theirs(tmp_path):
    os.chown(tmp_path, 1234, 5678)
    path = tmp_path / ".config" / "openstack" / "clouds.yaml"
    for _ in range(2):
        assert clouds.merge(path, {"pumice": ENTRY})
        for one in (path, path.parent, path.parent.parent):
            assert (one.stat().st_uid, one.stat().st_gid) == (1234, 5678)
        path.write_text(FOREIGN)


def test_other_entries_and_comments_stay_as_they_are(tmp_path):
    path = tmp_path / "clouds.yaml"
    path.write_text(FOREIGN)
    path.chmod(0o644)
    assert clouds.merge(path, {"pumice": ENTRY})
    assert path.read_text().startswith(FOREIGN)
    assert yaml.safe_load(path.read_text())["clouds"]["pumice"] == ENTRY
    assert path.stat().st_mode & 0o077 == 0


def test_our_entry_is_replaced(tmp_path):
    path = tmp_path / "clouds.yaml"
    path.write_text(FOREIGN + "  pumice:\n    auth: {password: old}\n  later: {region_name: Three}\n")
    assert clouds.merge(path, {"pumice": ENTRY})
    document = yaml.safe_load(path.read_text())["clouds"]
    assert document["pumice"] == ENTRY
    assert document["later"] == {"region_name": "Three"}


def test_an_entry_of_another_cloud_that_answers_is_told(tmp_path):
    path = tmp_path / "clouds.yaml"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v3"
        threading.Thread(target=answer_once, args=(listener,), daemon=True).start()
        path.write_text(f"clouds:\n  other: {{}}\n  pumice-demo: {{auth: {{auth_url: '{url}'}}}}\n")
        before = path.read_text()
        assert clouds.rival(path, {"pumice": ENTRY, "pumice-demo": ENTRY}) == url
        assert clouds.rival(path, {"pumice": ENTRY, "other": ENTRY}) == ""
    assert clouds.rival(path, {"pumice-demo": ENTRY}) == ""  # it answers no more
    assert path.read_text() == before


def answer_once(listener):
    connection, _ = listener.accept()
    with connection:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


@pytest.mark.parametrize("text", ["", "- a list", "clouds: {pumice: 7}", "clouds: {pumice: {auth: x}}", "clouds: {bro"])
def test_a_file_without_such_an_entry_has_no_rival(tmp_path, text):
    path = tmp_path / "clouds.yaml"
    assert clouds.rival(path, {"pumice": ENTRY}) == ""
    path.write_text(text)
    assert clouds.rival(path, {"pumice": ENTRY}) == ""


def test_what_is_up_to_date_is_not_written(tmp_path):
    path = tmp_path / "clouds.yaml"
    clouds.merge(path, {"pumice": ENTRY})
    before = path.stat().st_mtime_ns, path.stat().st_ino
    assert clouds.merge(path, {"pumice": ENTRY})
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before


def test_a_link_stays_a_link(tmp_path):
    real, link = tmp_path / "dotfiles.yaml", tmp_path / "clouds.yaml"
    real.write_text(FOREIGN)
    link.symlink_to(real)
    assert clouds.merge(link, {"pumice": ENTRY})
    assert link.is_symlink()
    assert "pumice" in real.read_text()


@pytest.mark.parametrize("text", ["clouds: [1, 2]", "- a list", "clouds: {broken", "\x00"])
def test_what_is_no_clouds_file_is_not_touched(tmp_path, text):
    path = tmp_path / "clouds.yaml"
    path.write_text(text)
    assert not clouds.merge(path, {"pumice": ENTRY})
    assert path.read_text() == text


@pytest.mark.parametrize("text", ["", "clouds:\n", "# nothing yet\n"])
def test_an_empty_file_is_filled(tmp_path, text):
    path = tmp_path / "clouds.yaml"
    path.write_text(text)
    assert clouds.merge(path, {"pumice": ENTRY})
    assert yaml.safe_load(path.read_text())["clouds"] == {"pumice": ENTRY}


def test_a_place_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    assert not clouds.merge(tmp_path / "file" / "clouds.yaml", {"pumice": ENTRY})
