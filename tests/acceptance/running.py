"""The whole product as a person runs it: `pumice up` on free ports and a data directory of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, Self

import openstack
import requests
from cinderclient import client as cinderclient
from keystoneauth1.session import Session
from manilaclient import client as manilaclient

from pumice.standalone.keystone import REGION, Keystone
from pumice.standalone.shares import USUAL
from pumice.standalone.target import TargetDaemon
from tests.acceptance.typed import OpenStack
from tests.support.fileservers import end_file_servers
from tests.support.iscsi import INITIATOR
from tests.support.ports import free_port
from tests.support.waiting import LONG, eventually

BIN = Path(sys.executable).parent
PROJECTS = {"admin": "admin", "demo": "demo", "stranger": "elsewhere"}
"""Who there is, and in which project: the two that `pumice up` makes, and a member of another project."""


class Pumice:
    """Runs from `with` on; at its end nothing of it may be left. Clients are made for a name of PROJECTS."""

    def __init__(self, directory: Path) -> None:
        self.data = directory / "data"
        self.port, self.share_port = free_port(), free_port()
        self.keystone_port, self.iscsi_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.keystone = Keystone(self.data / "keystone", self.keystone_port)
        self.session: Callable[[str], Session] = cache(self._session)
        servers = self.data / "servers"
        servers.mkdir(parents=True)
        servers.joinpath("ports.json").write_text(json.dumps({name: free_port() for name in USUAL}))
        self._directory = directory
        self._process: subprocess.Popen[str] | None = None
        self._typed = OpenStack(self.environment())

    def __enter__(self) -> Self:
        try:
            self.start()
            self.keystone.account("stranger", PROJECTS["stranger"], ["member"])
        except BaseException:
            self._clear()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._typed.close()
        try:
            said, complaints = self.end(signal.SIGTERM)
            assert said.endswith("Stopped. All is kept.\n"), said
            assert complaints == ""
            assert not (self.data / "storage").is_mount()
            self._see_loop_device_go()
            assert self.tgtd_pid() is None
        finally:
            self._clear()

    def _see_loop_device_go(self) -> None:
        """The kernel lets it go after the unmount, and only when no other mount namespace has it any more."""
        listing = ["losetup", "--list", "--noheadings"]

        def gone() -> bool:
            there = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
            return str(self.data) not in there or self._mounted_elsewhere()

        eventually(gone, why=lambda: "the loop device is still there")

    def _mounted_elsewhere(self) -> bool:
        """Whether another mount namespace, made by whoever meanwhile, has a copy of our mount."""
        for mounts in Path("/proc").glob("[0-9]*/mountinfo"):
            with suppress(OSError):
                if str(self.data) in mounts.read_text():
                    return True
        return False

    def start(self) -> None:
        ports = {
            "port": self.port,
            "share-port": self.share_port,
            "keystone-port": self.keystone_port,
            "iscsi-port": self.iscsi_port,
        }
        options = [f"--{name}={value}" for name, value in ports.items()]
        self._process = subprocess.Popen(
            [BIN / "pumice", "up", f"--data-dir={self.data}", "--storage-size=6", "--no-user-clouds", *options],
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

        def answers() -> bool:
            assert self._process is not None
            assert self._process.poll() is None, self._process.communicate()
            return self._answers()

        eventually(answers, 120)

    def end(self, number: signal.Signals) -> tuple[str, str]:
        """End it by a signal; what it had said on its output, and of errors."""
        assert self._process is not None
        self._process.send_signal(number)
        return self._process.communicate(timeout=90)

    def tgtd_pid(self) -> int | None:
        left = self._target()._left_behind()
        return left.pid if left else None

    def targets(self) -> str:
        """What tgtd itself says of its targets: their names, initiators and disks."""
        done = subprocess.run(
            ["tgtadm", "-C", "0", "--lld", "iscsi", "--mode", "target", "--op", "show"],
            env={**os.environ, "TGT_IPC_SOCKET": str(self._target().socket)},
            capture_output=True,
            text=True,
            timeout=LONG,
            check=True,
        )
        return done.stdout

    # Clients

    def environment(self) -> dict[str, str]:
        """Of a person's shell, in which clients find the clouds."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
        own = {"HOME": str(self._directory), "COLUMNS": "200", "OS_CLIENT_CONFIG_FILE": str(self.data / "clouds.yaml")}
        return kept | own

    def run(self, *command: str, cloud: str = "pumice", status: int = 0) -> str:
        """What a command says that finds its cloud as a person's shell would."""
        program, *words = command
        done = subprocess.run(
            [BIN / program, *words],
            env=self.environment() | {"OS_CLOUD": cloud},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == status, (command, done.stdout, done.stderr)
        return done.stdout if status == 0 else done.stdout + done.stderr

    def openstack(self, *words: str, cloud: str = "pumice", status: int = 0) -> Any:
        """What the `openstack` command says, as the object that it is where JSON is asked for; else its complaints."""
        done, said, complaints = self._typed(cloud, *words)
        assert done == status, (words, said, complaints)
        if status:
            return said + complaints
        return json.loads(said) if "json" in words else said

    def sdk(self, who: str, version: str | None = None) -> Any:
        """openstacksdk's block storage; without a version it takes the newest that it knows, call by call."""
        return self._connection(who, block_storage_default_microversion=version).block_storage

    def share_sdk(self, who: str, version: str | None = None) -> Any:
        return self._connection(who, shared_file_system_default_microversion=version).shared_file_system

    def _connection(self, who: str, **versions: str | None) -> openstack.connection.Connection:
        return openstack.connection.Connection(session=self.session(who), region_name=REGION, **versions)

    def cinder(self, who: str, version: str = "3.71") -> Any:
        return cinderclient.Client(version, session=self.session(who), region_name=REGION)

    def manila(self, who: str, version: str = "2.98") -> Any:
        """The library at its newest version."""
        return manilaclient.Client(version, session=self.session(who), region_name=REGION)

    def project_id(self, who: str) -> str:
        return str(self.session(who).get_project_id())

    def ask(
        self, method: str, path: str, body: Any = None, *, who: str = "demo", service_token: str | None = None
    ) -> requests.Response:
        """A plain request about volumes, at the newest version."""
        headers = {"X-Auth-Token": str(self.session(who).get_token()), "OpenStack-API-Version": "volume 3.71"}
        if service_token:
            headers["X-Service-Token"] = service_token
        return requests.request(method, f"{self.url}/v3{path}", json=body, headers=headers, timeout=60)

    def ask_shares(self, method: str, path: str, body: Any = None, *, who: str = "demo") -> requests.Response:
        headers = {
            "X-Auth-Token": str(self.session(who).get_token()),
            "X-OpenStack-Manila-API-Version": "2.99",
        }
        url = f"http://127.0.0.1:{self.share_port}/v2{path}"
        return requests.request(method, url, json=body, headers=headers, timeout=60)

    def _session(self, who: str) -> Session:
        return self.keystone.login(who, PROJECTS[who]).session()

    def _target(self) -> TargetDaemon:
        return TargetDaemon(self.data / "tgtd", "127.0.0.1", None)

    def _answers(self) -> bool:
        try:
            return requests.get(f"{self.url}/healthcheck", timeout=30).ok
        except requests.ConnectionError:
            return False

    def _clear(self) -> None:
        """End what a failed test left."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.communicate()
        if pid := self.tgtd_pid():
            os.kill(pid, signal.SIGKILL)
        end_file_servers(self.data)
        while (self.data / "storage").is_mount():
            subprocess.run(["umount", self.data / "storage"], check=True, timeout=60)


class Person:
    """Somebody who asks one of the APIs, in the words of these tests; all waits are bounded."""

    def __init__(self, ask: Callable[..., requests.Response], who: str) -> None:
        self._ask = partial(ask, who=who)

    def ok(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._ask(method, path, body)
        assert answer.ok, (method, path, answer.text)
        return answer.json() if answer.content else None

    def status(self, kind: str, id: str) -> str:
        """Of a volume, share or snapshot; "gone" when it is no more."""
        answer = self._ask("GET", f"/{kind}s/{id}")
        return str(answer.json()[kind]["status"]) if answer.ok else "gone"

    def rests(self, kind: str, id: str, wanted: str) -> None:
        def rested() -> bool:
            status = self.status(kind, id)
            assert status == wanted or status.endswith("ing"), f"{kind} {id} is {status}, not {wanted}"
            return status == wanted

        eventually(rested, 60, lambda: f"{kind} {id} is still {self.status(kind, id)}")

    def _remove(self, kind: str, how: str = "") -> None:
        every = self.ok("GET", f"/{kind}s/detail")[f"{kind}s"]
        for one in every:
            if one["status"] != "deleting":
                self.ok("DELETE", f"/{kind}s/{one['id']}{how}")
        for one in every:
            self.rests(kind, one["id"], "gone")


class Member(Person):
    """Somebody who works with volumes."""

    def __init__(self, pumice: Pumice, who: str = "demo") -> None:
        super().__init__(pumice.ask, who)

    def make(self, kind: str = "volume", **values: Any) -> str:
        id = str(self.ok("POST", f"/{kind}s", {kind: values})[kind]["id"])
        self.rests(kind, id, "available")
        return id

    def act(self, volume: str, name: str, value: Any, then: str) -> None:
        self.ok("POST", f"/volumes/{volume}/action", {name: value})
        self.rests("volume", volume, then)

    def attach(self, volume: str, initiator: str = INITIATOR, **values: Any) -> dict[str, Any]:
        """The connection_info of a new attachment that is complete."""
        connector = {"initiator": initiator, "ip": "127.0.0.1", "host": "here"}
        body = {"attachment": {"volume_uuid": volume, "connector": connector, **values}}
        made = self.ok("POST", "/attachments", body)["attachment"]
        self.ok("POST", f"/attachments/{made['id']}/action", {"os-complete": made["id"]})
        assert self.status("volume", volume) == "in-use"
        info: dict[str, Any] = made["connection_info"]
        return info

    def detach(self, info: dict[str, Any]) -> None:
        self.ok("DELETE", f"/attachments/{info['attachment_id']}")

    def clear(self) -> None:
        """Remove all that there is, and wait until it is gone."""
        for attachment in self.ok("GET", "/attachments")["attachments"]:
            self.ok("DELETE", f"/attachments/{attachment['id']}")
        self._remove("volume", "?cascade=true")


class ShareMember(Person):
    """Somebody who works with shares."""

    def __init__(self, pumice: Pumice, who: str = "demo") -> None:
        super().__init__(pumice.ask_shares, who)

    def make(self, kind: str = "share", **values: Any) -> str:
        """A new share of 1 GiB over NFS, or a snapshot."""
        usual = {"share_proto": "NFS", "size": 1} if kind == "share" else {}
        id = str(self.ok("POST", f"/{kind}s", {kind: usual | values})[kind]["id"])
        self.rests(kind, id, "available")
        return id

    def act(self, share: str, name: str, value: Any, then: str = "available") -> Any:
        answer = self.ok("POST", f"/shares/{share}/action", {name: value})
        self.rests("share", share, then)
        return answer

    def location(self, path: str) -> str:
        """Where a share, or a snapshot, is mounted from."""
        [[one]] = self.ok("GET", path).values()
        return str(one["path"])

    def clear(self) -> None:
        """Remove all that there is, and wait until it is gone."""
        for lock in self.ok("GET", "/resource-locks")["resource_locks"]:
            self.ok("DELETE", f"/resource-locks/{lock['id']}")
        for kind in ("snapshot", "share"):
            self._remove(kind)
