from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

import pytest

from pumice.kernel.drivers import BackendError, ObjectMissing
from pumice.share.drivers.base import Applied, Rule
from pumice.share.exports.samba import SambaExporter
from pumice.share.exports.samba_server import SambaServer
from tests.support.samba import PASSWORD, add_user, open_directory, samba_server, smbclient
from tests.support.waiting import LONG, eventually

pytestmark = pytest.mark.real

USER, OTHER = "games", "mail"  # which every Debian system has
JOE, ANN = Rule("joe", "user", USER), Rule("ann", "user", OTHER, "ro")
ME, ELSEWHERE = Rule("me", "ip", "127.0.0.1"), Rule("there", "ip", "10.0.0.0/8")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SambaServer]:
    with samba_server(tmp_path_factory.mktemp("smb")) as server:
        add_user(server, USER)
        add_user(server, OTHER)
        yield server


@pytest.fixture
def exporter(server: SambaServer) -> Iterator[SambaExporter]:
    exporter = server.exporter()
    exporter.start()
    yield exporter
    for id in exporter.exports():
        exporter.unexport(id)
    exporter.stop()


@pytest.fixture
def share() -> Iterator[Path]:
    with open_directory() as path:
        (path / "file").write_text("hello")
        yield path


def may(server: SambaServer, user: str | None = None) -> str:
    """What a user, or a guest, may do with the share `first`."""
    try:
        smbclient(server, "first", "ls", user)
    except PermissionError:
        return "nothing"
    try:
        smbclient(server, "first", "put /etc/hostname name", user)
    except PermissionError:
        return "read"
    return "write"


def test_rules_for_users(server: SambaServer, exporter: SambaExporter, share: Path) -> None:
    [location] = exporter.export("one", share, "first")
    assert (location.path, location.metadata) == (r"\\127.0.0.1\first", {"port": str(server.port)})
    assert exporter.exports() == {"one": frozenset()}
    assert {may(server, who) for who in (USER, OTHER, None)} == {"nothing"}

    assert exporter.apply("one", [JOE, ANN]) == {"joe": Applied(), "ann": Applied()}
    assert exporter.exports() == {"one": {f"user {USER} rw", f"user {OTHER} ro"}}
    assert [may(server, who) for who in (USER, OTHER, None)] == ["write", "read", "nothing"]
    assert (share / "name").stat().st_mode & 0o777 == 0o666

    exporter.apply("one", [ANN])
    assert [may(server, who) for who in (USER, OTHER, None)] == ["nothing", "read", "nothing"]
    exporter.unexport("one")
    exporter.unexport("one")
    assert exporter.exports() == {}
    with pytest.raises(ObjectMissing):
        exporter.apply("one", [JOE])


def test_rules_for_addresses_alone_let_guests_in(server: SambaServer, exporter: SambaExporter, share: Path) -> None:
    exporter.export("one", share, "first")
    assert exporter.apply("one", [ELSEWHERE]) == {"there": Applied()}
    assert may(server) == "nothing"
    exporter.apply("one", [ELSEWHERE, ME])
    assert exporter.exports() == {"one": {"ip 10.0.0.0/8 rw", "ip 127.0.0.1 rw"}}
    assert [may(server), may(server, USER)] == ["write", "write"]
    exporter.apply("one", [Rule("me", "ip", "127.0.0.0/8", "ro")])
    assert may(server) == "read"
    exporter.apply("one", [Rule("me", "ip", "0.0.0.0/0", "ro"), Rule("six", "ip", "fd00:0::/8", "ro")])
    assert exporter.exports() == {"one": {"ip 0.0.0.0/0 ro", "ip fd00::/8 ro"}}
    assert may(server) == "read"
    exporter.apply("one", [])
    assert may(server) == "nothing"


def test_rules_for_users_and_addresses(server: SambaServer, exporter: SambaExporter, share: Path) -> None:
    """The users, from there."""
    exporter.export("one", share, "first")
    exporter.apply("one", [JOE, ELSEWHERE])
    assert [may(server, USER), may(server)] == ["nothing", "nothing"]
    exporter.apply("one", [JOE, ME])
    assert [may(server, USER), may(server, OTHER), may(server)] == ["write", "nothing", "nothing"]
    assert exporter.exports() == {"one": {f"user {USER} rw", "ip 127.0.0.1 rw"}}


def test_rules_that_cannot_be_enforced_have_their_own_error(
    server: SambaServer, exporter: SambaExporter, share: Path
) -> None:
    exporter.export("one", share, "first")
    unknown = [Rule(name, "user", name) for name in ("nobody-of-that-name", "%U", "@games", "-L")]
    fared = exporter.apply("one", [*unknown, Rule("cert", "cert", "x"), ME])
    assert fared.pop("me") == Applied()
    assert fared.pop("cert").error == "access by cert is not possible here, only by user and by ip"
    assert fared == {rule.id: Applied(f"Samba knows no user {rule.to!r}") for rule in unknown}
    assert may(server) == "nothing"  # though an ip rule alone would let guests in
    assert exporter.exports() == {"one": {"ip 127.0.0.1 rw"}}
    exporter.export("one", share, "first")  # as after a restart
    assert may(server) == "nothing"

    readers = Rule("readers", "ip", "10.0.0.0/8", "ro")
    error = "Samba lets all addresses of a share do the same, and another rule says rw"
    assert exporter.apply("one", [ME, readers]) == {"me": Applied(), "readers": Applied(error)}
    fared = exporter.apply("one", [JOE, readers])
    assert fared["joe"] == Applied()
    assert str(fared["readers"].error).startswith("beside rules for users, Samba takes ip rules that allow to write")


def test_an_export_that_is_only_to_be_read(server: SambaServer, exporter: SambaExporter, share: Path) -> None:
    exporter.export("one", share, "first", read_only=True)
    exporter.apply("one", [JOE, ME])
    assert may(server, USER) == "read"
    assert exporter.exports() == {"one": {f"user {USER} ro", "ip 127.0.0.1 ro"}}


def test_an_export_made_again_keeps_its_rules(server: SambaServer, exporter: SambaExporter, share: Path) -> None:
    exporter.export("one", share, "first")
    exporter.apply("one", [JOE])
    exporter.export("one", share, "first")
    assert may(server, USER) == "write"
    elsewhere = share / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "moved").touch()
    exporter.export("one", elsewhere, "First")
    assert "moved" in smbclient(server, "first", "ls", USER)
    exporter.export("one", elsewhere, "second")
    assert "moved" in smbclient(server, "second", "ls", USER)
    assert may(server, USER) == "nothing"
    assert set(exporter.exports()) == {"one"}


@pytest.mark.parametrize(
    ("path", "name", "error"),
    [
        ("share", "a b", "cannot name an export"),
        ("share", "Taken", "is taken by the export of other"),
        ("share", "homes", "means something else to Samba"),
        ("100%", "good", "cannot be exported"),
    ],
)
def test_what_cannot_be_exported(exporter: SambaExporter, share: Path, path: str, name: str, error: str) -> None:
    exporter.export("other", share, "taken")
    with pytest.raises(BackendError, match=error):
        exporter.export("one", share.with_name(path), name)
    assert set(exporter.exports()) == exporter.ids() == {"other"}


def test_clients_are_cut_off(server: SambaServer, exporter: SambaExporter, share: Path) -> None:
    """Those whose rule went; others only when they may do less than before, and so have to come back."""
    exporter.export("one", share, "first")
    exporter.apply("one", [JOE, Rule("ann", "user", OTHER)])
    with Session(server, USER) as joe, Session(server, OTHER) as ann:
        for session, name in ((joe, "joe"), (ann, "ann")):
            session.put(name)
            eventually((share / name).exists)
        exporter.apply("one", [Rule("ann", "user", OTHER)])
        assert "NT_STATUS_CONNECTION_" in joe.end_with("joe-late")
        ann.put("ann-later")
        eventually((share / "ann-later").exists)
        exporter.apply("one", [ANN])
        assert "NT_STATUS_CONNECTION_" in ann.end_with("ann-late")
    assert not list(share.glob("*-late"))
    assert may(server, OTHER) == "read"


class Session:
    """A connection that stays open between commands."""

    def __init__(self, server: SambaServer, user: str) -> None:
        self._process = subprocess.Popen(
            [
                *("smbclient", "--configfile=/dev/null", f"--port={server.port}", f"--user={user}%{PASSWORD}"),
                f"//{server.host}/first",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def put(self, name: str) -> None:
        assert self._process.stdin
        print(f"put /etc/hostname {name}", file=self._process.stdin, flush=True)

    def end_with(self, name: str) -> str:
        """Write a last file; everything that smbclient said."""
        self.put(name)
        return self._process.communicate("quit\n", timeout=LONG)[0]


def test_exports_outlive_the_server(tmp_path: Path, share: Path) -> None:
    with samba_server(tmp_path) as server:
        add_user(server, USER)
        exporter = server.exporter()
        exporter.export("one", share, "first")
        exporter.export("two", share, "second")
        exporter.apply("one", [JOE])
        os.kill(server.pid, signal.SIGKILL)
        eventually(lambda: not server.alive)
        exporter.unexport("two")
        with pytest.raises(BackendError, match="no smbd runs"):
            exporter.apply("one", [JOE, ME])
        assert server.check()
        assert not server.check()
        assert exporter.exports() == {"one": {f"user {USER} rw", "ip 127.0.0.1 rw"}}
        assert may(server, USER) == "write"


def test_many_at_once(server: SambaServer, exporter: SambaExporter, share: Path) -> None:
    def life(number: int) -> Mapping[str, Applied]:
        other = server.exporter()
        other.export(f"n{number}", share, f"n{number}")
        return other.apply(f"n{number}", [JOE])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(life, range(4))) == [{"joe": Applied()}] * 4
    assert exporter.exports() == {f"n{number}": {f"user {USER} rw"} for number in range(4)}
