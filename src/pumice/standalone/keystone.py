"""A real Keystone on SQLite in a child process, for `pumice up` and for tests."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import requests
from keystoneauth1 import session as ks_session
from keystoneauth1.identity.v3 import Password

from pumice.kernel.files import write_private

from .errors import StandaloneError

REGION = "RegionOne"

# Passwords here are random, 192 bits long: slow hashing would only make each login cost a quarter of a second.
_CONF = """\
[DEFAULT]
log_file = {directory}/keystone.log
log_rotation_type = size
max_logfile_size_mb = 10
max_logfile_count = 2
[database]
connection = sqlite:///{directory}/keystone.db?timeout=30
[token]
provider = fernet
[fernet_tokens]
key_repository = {directory}/fernet-keys
[fernet_receipts]
key_repository = {directory}/receipt-keys
[credential]
key_repository = {directory}/credential-keys
[cache]
enabled = true
backend = oslo_cache.dict
[identity]
password_hash_rounds = 4
[oslo_middleware]
enable_proxy_headers_parsing = true
"""


@dataclass(frozen=True, slots=True)
class Login:
    """A user in a project, both in the domain `Default`."""

    auth_url: str
    username: str
    password: str
    project_name: str
    user_id: str = ""
    project_id: str = ""

    def auth(self) -> dict[str, Any]:
        """What keystoneauth's v3 password plugin, a clouds.yaml entry and `[keystone_authtoken]` all take."""
        return {
            "auth_url": self.auth_url,
            "username": self.username,
            "password": self.password,
            "project_name": self.project_name,
            "user_domain_id": "default",
            "project_domain_id": "default",
        }

    def session(self) -> ks_session.Session:
        return ks_session.Session(auth=Password(**self.auth()))

    def token(self) -> str:
        return str(self.session().get_token())


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A service and its one URL, which becomes the public, the internal and the admin endpoint."""

    type: str
    name: str
    url: str


class Keystone:
    """Keystone in `directory` (made when missing, mode 0700), answering on `host`:`port`.

    The first start sets it up; everything is kept in the directory. The child dies with this process. Each of
    `account` and `catalog` leaves alone what is already as asked.
    """

    def __init__(self, directory: Path, port: int, *, host: str = "127.0.0.1") -> None:
        self.directory = directory.absolute()
        self.host = host
        self.port = port
        self.auth_url = f"http://{host}:{port}/v3"
        self._process: subprocess.Popen[bytes] | None = None
        self._admin: ks_session.Session | None = None

    def prepare(self) -> None:
        """Write the configuration and the admin's password; start nothing."""
        keys = [self.directory / name for name in ("fernet-keys", "receipt-keys", "credential-keys")]
        for path in (self.directory, *keys):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self.directory / "keystone.conf", _CONF.format(directory=self.directory))
        self._password("admin")

    def start(self, timeout: float = 60.0) -> Self:
        """Start the child and wait until it answers.

        :raises StandaloneError: it ended, or did not answer within `timeout` seconds
        """
        self.launch()
        self.wait(timeout)
        return self

    def launch(self) -> None:
        """Start the child and return at once: it needs some seconds, in which the caller can do other things."""
        self.prepare()
        arguments = [str(self.directory), self.host, str(self.port)]
        environment = os.environ | {"OS_BOOTSTRAP_PASSWORD": self._password("admin")}
        with (self.directory / "child.out").open("w") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", "pumice.standalone.keystone_child", *arguments],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )

    def wait(self, timeout: float = 60.0) -> None:
        """Wait until the child answers.

        :raises StandaloneError: it ended, or did not answer within `timeout` seconds
        """
        deadline = time.monotonic() + timeout
        while self.alive:
            try:
                requests.get(self.auth_url, timeout=5).raise_for_status()
            except requests.RequestException:
                if time.monotonic() > deadline:
                    self.stop()
                    raise StandaloneError(f"Keystone did not answer within {timeout:g} s") from None
                time.sleep(0.05)
            else:
                return
        self.stop()
        lines = (self.directory / "child.out").read_text(errors="replace").strip().splitlines()
        last = lines[-1] if lines else "it said nothing"
        where = f"child.out and keystone.log in {self.directory}"
        raise StandaloneError(f"Keystone ended while starting: {last} (see {where})")

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        process, self._process, self._admin = self._process, None, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdin:
            process.stdin.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # -- what is in it

    @property
    def admin(self) -> Login:
        """The cloud's administrator: user `admin` in project `admin`."""
        return self.login("admin", "admin")

    def login(self, username: str, project: str) -> Login:
        """An account's login, also before `account` has made it."""
        return Login(self.auth_url, username, self._password(username), project)

    def account(self, username: str, project: str, roles: Iterable[str]) -> Login:
        """Make the user, the project and the user's roles in it; the user's password is made once and kept."""
        password = self._password(username)
        project_id = self._ensure("projects", {"name": project, "domain_id": "default"})["id"]
        known = {"name": username, "domain_id": "default"}
        user_id = self._ensure("users", known, {"password": password})["id"]
        for role in roles:
            role_id = self._ensure("roles", {"name": role})["id"]
            self._call("PUT", f"projects/{project_id}/users/{user_id}/roles/{role_id}")
        return Login(self.auth_url, username, password, project, user_id, project_id)

    def catalog(self, entries: Iterable[CatalogEntry]) -> None:
        """Make the services and their endpoints, and move those endpoints whose URL has changed."""
        for entry in entries:
            service = self._ensure("services", {"type": entry.type, "name": entry.name})
            found = self._call("GET", "endpoints", params={"service_id": service["id"]})["endpoints"]
            present = {endpoint["interface"]: endpoint for endpoint in found}
            for interface in ("public", "internal", "admin"):
                wanted = {"service_id": service["id"], "interface": interface, "region_id": REGION, "url": entry.url}
                if interface not in present:
                    self._call("POST", "endpoints", {"endpoint": wanted})
                elif present[interface]["url"] != entry.url:
                    self._call("PATCH", f"endpoints/{present[interface]['id']}", {"endpoint": {"url": entry.url}})

    def _ensure(
        self, collection: str, known_by: Mapping[str, str], extra: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        found = self._call("GET", collection, params=known_by)[collection]
        if found:
            return dict(found[0])
        kind = collection.removesuffix("s")
        return dict(self._call("POST", collection, {kind: {**known_by, **(extra or {})}})[kind])

    def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, params: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        if self._admin is None:
            self._admin = self.admin.session()
        answer = self._admin.request(f"{self.auth_url}/{path}", method, json=body, params=params)
        return dict(answer.json()) if answer.content else {}

    def _password(self, username: str) -> str:
        path = self.directory / "passwords.json"
        passwords: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
        if username not in passwords:
            passwords[username] = secrets.token_urlsafe(24)
            write_private(path, json.dumps(passwords))
        return passwords[username]
