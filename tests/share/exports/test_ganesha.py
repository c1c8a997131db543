from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pumice.kernel.drivers import BackendError, ObjectMissing
from pumice.share.drivers.base import Applied, Rule
from pumice.share.exports.ganesha import GaneshaExporter
from pumice.share.exports.ganesha_files import ExportFiles
from pumice.share.exports.ganesha_server import GaneshaServer
from tests.support.ganesha import NfsClient, ganesha_server
from tests.support.ports import free_port
from tests.support.waiting import LONG

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GaneshaServer]:
    with ganesha_server(tmp_path_factory.mktemp("nfs")) as server:
        yield server


@pytest.fixture
def exporter(server: GaneshaServer) -> Iterator[GaneshaExporter]:
    exporter = server.exporter()
    exporter.start()
    yield exporter
    for id in exporter.exports():
        exporter.unexport(id)
    exporter.stop()


@pytest.fixture
def share(tmp_path: Path) -> Path:
    """A directory with a file, open to everybody."""
    path = tmp_path / "share"
    path.mkdir()
    path.chmod(0o777)
    (path / "file").write_text("hello")
    return path


ME = Rule("me", "ip", "127.0.0.1")


@pytest.mark.parametrize("version", [3, 4])
def test_a_share_is_seen_by_whom_a_rule_names_and_by_nobody_else(
    server: GaneshaServer, exporter: GaneshaExporter, share: Path, tmp_path: Path, version: int
) -> None:
    client = NfsClient(server, version)
    [location] = exporter.export("one", share, "first")
    assert (location.path, location.metadata) == ("127.0.0.1:/first", {"port": str(server.port)})
    assert exporter.exports() == {"one": frozenset()}
    with pytest.raises(PermissionError):
        client.read("/first/file")

    assert exporter.apply("one", [Rule("r", "ip", "127.0.0.0/8", "ro")]) == {"r": Applied()}
    assert client.read("/first/file") == "hello"
    with pytest.raises(PermissionError):
        client.write("/first/new", "text", tmp_path)

    assert exporter.apply("one", [Rule("r", "ip", "127.0.0.0/8", "ro"), ME]) == {"r": Applied(), "me": Applied()}
    client.write("/first/new", "text", tmp_path)
    assert (share / "new").read_text() == "text"
    assert exporter.exports() == {"one": {"ip 127.0.0.0/8 ro", "ip 127.0.0.1 rw"}}

    exporter.apply("one", [Rule("r", "ip", "10.0.0.0/8")])
    with pytest.raises(PermissionError):
        client.read("/first/file")
    exporter.unexport("one")
    exporter.unexport("one")
    assert exporter.exports() == {}
    with pytest.raises(ObjectMissing):
        exporter.apply("one", [ME])


WRITTEN = {
    "0.0.0.0/0": "0.0.0.0/0",
    "::/0": "::/0",
    "10.1.2.3/32": "10.1.2.3",
    "10.1.2.3/24": "10.1.2.0/24",
    "2001:DB8::/32": "2001:db8::/32",
    "fd00:0::1": "fd00::1",
    "fd00::2/128": "fd00::2",
    "fd00::/99": "fd00::/99",
    "fd00::10/126": "fd00::10/126",
    "::ffff:10.0.0.1": "::ffff:a00:1",
    "fd00:1:2:3:4:5:c000::/98": "fd00:1:2:3:4:5:c000:0/98",
}


def test_however_an_address_is_written(exporter: GaneshaExporter, share: Path) -> None:
    exporter.export("one", share, "first")
    rules = [Rule(str(number), "ip", to, "ro") for number, to in enumerate(WRITTEN)]
    assert exporter.apply("one", rules) == {rule.id: Applied() for rule in rules}
    assert exporter.exports()["one"] == {f"ip {to} ro" for to in WRITTEN.values()}


def test_a_rule_that_cannot_be_enforced_has_its_own_error(
    server: GaneshaServer, exporter: GaneshaExporter, share: Path
) -> None:
    exporter.export("one", share, "first")
    impossible = [Rule("user", "user", "joe"), Rule("wide", "ip", "fd00::/100"), Rule("odd", "ip", "10.0.0.0/33")]
    fared = exporter.apply("one", [*impossible, ME])
    assert fared.pop("me") == Applied()
    assert [applied.error for applied in fared.values()] == [
        "access by user is not possible here, only by ip",
        "NFS-Ganesha takes IPv6 networks of a prefix length of up to 99, or from 124 on",
        "'10.0.0.0/33' does not appear to be an IPv4 or IPv6 network",
    ]
    assert NfsClient(server, 4).read("/first/file") == "hello"
    assert exporter.exports() == {"one": {"ip 127.0.0.1 rw"}}


def test_an_export_that_is_only_to_be_read(
    server: GaneshaServer, exporter: GaneshaExporter, share: Path, tmp_path: Path
) -> None:
    exporter.export("one", share, "first", read_only=True)
    exporter.apply("one", [ME])
    client = NfsClient(server, 3)
    assert client.read("/first/file") == "hello"
    with pytest.raises(PermissionError):
        client.write("/first/new", "text", tmp_path)
    assert exporter.exports() == {"one": {"ip 127.0.0.1 ro"}}


def test_an_export_made_again_keeps_its_rules(
    server: GaneshaServer, exporter: GaneshaExporter, share: Path, tmp_path: Path
) -> None:
    exporter.export("one", share, "first")
    exporter.apply("one", [ME])
    exporter.export("one", share, "first")
    assert NfsClient(server, 4).read("/first/file") == "hello"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("moved")
    exporter.export("one", elsewhere, "renamed")
    assert NfsClient(server, 4).read("/renamed/file") == "moved"
    with pytest.raises(PermissionError):
        NfsClient(server, 4).read("/first/file")


@pytest.mark.parametrize(
    ("path", "name", "error"),
    [
        ("share", "../up", "cannot name an export"),
        ("share", 'a"b', "cannot name an export"),
        ("share", "taken", "is taken by the export of other"),
        ('quo"te', "good", "cannot be exported"),
        ("missing", "good", "NFS-Ganesha refused AddExport"),
    ],
)
def test_what_cannot_be_exported(exporter: GaneshaExporter, share: Path, path: str, name: str, error: str) -> None:
    exporter.export("other", share, "taken")
    with pytest.raises(BackendError, match=error):
        exporter.export("one", share.with_name(path), name)
    assert set(exporter.exports()) == exporter.ids() == {"other"}
    exporter.unexport("one")


def test_other_exports_are_not_disturbed(
    server: GaneshaServer, exporter: GaneshaExporter, share: Path, tmp_path: Path
) -> None:
    """A client reads from one export, without a break, while others come, change and go."""
    (share / "large").write_bytes(b"x" * 2**20)
    exporter.export("one", share, "first")
    exporter.apply("one", [ME])
    url = f"nfs://127.0.0.1/first/large?version=4&nfsport={server.port}"
    with subprocess.Popen(
        ["sh", "-c", f"for n in $(seq 40); do nfs-cat '{url}' | wc -c || exit; done"], stdout=subprocess.PIPE, text=True
    ) as reader:
        for number in range(5):
            other = tmp_path / str(number)
            other.mkdir()
            exporter.export(f"other-{number}", other, f"other-{number}")
            exporter.apply(f"other-{number}", [ME])
            exporter.unexport(f"other-{number}")
        assert reader.communicate(timeout=60)[0].split() == [str(2**20)] * 40


def test_an_unexported_file_system_can_be_unmounted(
    server: GaneshaServer, exporter: GaneshaExporter, tmp_path: Path
) -> None:
    mounted = server.mounts / "share"
    mounted.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(mounted)], check=True)
    try:
        (mounted / "file").write_text("mounted after the server was started")
        exporter.export("one", mounted, "first")
        exporter.apply("one", [ME])
        assert NfsClient(server, 4).read("/first/file") == "mounted after the server was started"
        exporter.unexport("one")
    finally:
        subprocess.run(["umount", str(mounted)], check=True)
    assert str(mounted) not in Path(f"/proc/{server.pid}/mountinfo").read_text()


def test_exports_outlive_the_server(tmp_path: Path, share: Path) -> None:
    with ganesha_server(tmp_path) as server:
        exporter = server.exporter()
        exporter.start()
        exporter.export("one", share, "first")
        exporter.apply("one", [ME])
        exporter.export("two", share, "second")
        before = exporter.exports()

        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(BackendError, match="does not run"):
            wait_until_absent(exporter)
        exporter.unexport("two")  # nobody exports it, and nobody will
        with pytest.raises(BackendError, match="does not run"):
            exporter.apply("one", [])
        with pytest.raises(BackendError, match="does not run"):
            exporter.apply("one", [ME])
        assert server.check()
        assert not server.check()
        assert exporter.exports() == {"one": before["one"]}
        assert NfsClient(server, 4).read("/first/file") == "hello"


def wait_until_absent(exporter: GaneshaExporter) -> None:
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        exporter.start()
        time.sleep(0.01)


def test_a_server_that_was_left_behind_is_taken_over(tmp_path: Path, share: Path) -> None:
    with ganesha_server(tmp_path) as server:
        exporter = server.exporter()
        exporter.start()
        exporter.export("one", share, "first")
        exporter.apply("one", [ME])
        arguments = tmp_path / "ganesha", server.host, server.port, server.mount_port
        heir = GaneshaServer(*arguments, mounts=server.mounts)
        heir.start()
        assert heir.pid == server.pid
        assert heir.exporter().exports() == {"one": {"ip 127.0.0.1 rw"}}
        elsewhere = GaneshaServer(
            tmp_path / "ganesha", server.host, free_port(), server.mount_port, mounts=server.mounts
        )
        elsewhere.start()
        assert not server.alive
        assert NfsClient(elsewhere, 4).read("/first/file") == "hello"
        elsewhere.stop()


def test_a_process_that_died_between_any_two_steps(tmp_path: Path, share: Path) -> None:
    with ganesha_server(tmp_path) as server:
        exporter = server.exporter()
        exporter.start()
        exporter.export("whole", share, "whole")
        exporter.apply("whole", [ME])
        files = ExportFiles(tmp_path / "ganesha" / "exports")
        gone = tmp_path / "gone"
        gone.mkdir()
        files.put(files.new("written", share, "written", read_only=False))  # and the server never asked
        files.put(files.new("lost", gone, "lost", read_only=False))
        gone.rmdir()
        removed = files.new("removed", share, "removed", read_only=False)
        files.put(removed)
        files.path(removed).unlink()  # which is never done before the index is written, but the server outlives it
        files.put(replace(files.get("whole"), rules=()))
        exporter.start()
        assert exporter.exports() == {"whole": frozenset(), "written": frozenset()}

        server.restart()
        assert exporter.exports() == {"whole": frozenset(), "written": frozenset()}
        exporter.unexport("lost")


def test_a_share_that_is_not_mounted_is_not_exported(tmp_path: Path) -> None:
    """Else clients would write to the directory that it is mounted on."""
    with ganesha_server(tmp_path) as server:
        exporter = server.exporter()
        mounted = server.mounts / "share"
        mounted.mkdir()
        mount = ["mount", "-t", "tmpfs", "tmpfs", str(mounted)]
        subprocess.run(mount, check=True)
        exporter.start()
        exporter.export("one", mounted, "first")
        server.stop()
        subprocess.run(["umount", str(mounted)], check=True)
        server.start()
        exporter.start()
        assert exporter.exports() == {}
        assert exporter.ids() == frozenset()
        subprocess.run(mount, check=True)
        exporter.start()
        assert set(exporter.exports()) == {"one"}
        exporter.unexport("one")
        subprocess.run(["umount", str(mounted)], check=True)


def test_many_at_once(server: GaneshaServer, exporter: GaneshaExporter, tmp_path: Path) -> None:
    def life(number: int) -> Mapping[str, Applied]:
        path = tmp_path / str(number)
        path.mkdir()
        other = server.exporter()
        other.export(f"n{number}", path, f"n{number}")
        return other.apply(f"n{number}", [ME])

    with ThreadPoolExecutor(4) as pool:
        fared = list(pool.map(life, range(20)))
    assert fared == [{"me": Applied()}] * 20
    assert exporter.exports() == {f"n{number}": {"ip 127.0.0.1 rw"} for number in range(20)}
