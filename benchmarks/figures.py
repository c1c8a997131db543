"""The figures of one API of volumes or shares, taken by a client that does one thing after another.

Times are seconds. Nothing here knows whose API it is.
"""

from __future__ import annotations

import http.client
import itertools
import json
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

POLL = 0.005
"""Seconds between looks at what is waited for, the same for everybody."""
PATIENCE = 300.0
PARALLEL = 30
FILLERS = 8
"""Clients that make the rows which the lists are of."""
FILLINGS = 4
"""How often what is missing is made; on a busy machine the peer's creations may fail."""


@dataclass(frozen=True, slots=True)
class Target:
    """:param url: of the API, the project included where it belongs there
    :param type: name of the volume or share type
    """

    service: str
    url: str
    token: str
    type: str

    @property
    def noun(self) -> str:
        return "volume" if self.service == "block" else "share"

    def body(self, name: str) -> dict[str, Any]:
        kind = (
            {"volume_type": self.type} if self.service == "block" else {"share_type": self.type, "share_proto": "NFS"}
        )
        return {self.noun: {"size": 1, "name": name, **kind}}


class Client:
    """One connection that is kept open."""

    def __init__(self, target: Target) -> None:
        self._url = urllib.parse.urlsplit(target.url)
        version = (
            {"OpenStack-API-Version": "volume 3.71"}
            if target.service == "block"
            else {"X-OpenStack-Manila-API-Version": "2.99"}
        )
        self._headers = {"X-Auth-Token": target.token, "Content-Type": "application/json", **version}
        self._connection: http.client.HTTPConnection | None = None

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The status and the decoded body; a GET is sent again on a connection that the server has closed."""
        status, text = self.raw(method, path, body)
        return status, json.loads(text) if text else None

    def raw(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        data = None if body is None else json.dumps(body).encode()
        for last in (method != "GET", True):
            try:
                return self._send(method, path, data)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                self._connection = None
                if last:
                    raise
        raise AssertionError("unreachable")

    def _send(self, method: str, path: str, data: bytes | None) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = http.client.HTTPConnection(self._url.netloc, timeout=PATIENCE)
            self._connection.connect()
            self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection.request(method, self._url.path + path, data, self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.will_close:
            self._connection = None
        return answer.status, text

    def good(self, method: str, path: str, body: Any = None) -> Any:
        status, answer = self.call(method, path, body)
        if not 200 <= status < 300:
            raise RuntimeError(f"{method} {path}: {status} {answer}")
        return answer


def fill(target: Target, rows: int) -> int:
    """Have the project hold at least `rows` volumes or shares that are available; how many were made."""
    client, made = Client(target), 0
    for _ in range(FILLINGS):
        there = client.good("GET", f"/{target.noun}s?limit=1&with_count=true&status=available")["count"]
        if there >= rows:
            return made
        made += rows - there
        create_all(target, [f"row-{n}" for n in range(rows - there)], FILLERS, failing=True)
    raise RuntimeError(f"{target.url}: {rows} {target.noun}s did not become available in {FILLINGS} attempts")


def create_all(target: Target, names: Iterable[str], clients: int, *, failing: bool = False) -> list[str]:
    """Create by several clients at once; the ids, once all are available.

    :param failing: some may end in error instead
    """
    own = threading.local()

    def create(name: str) -> str:
        if not hasattr(own, "client"):
            own.client = Client(target)
        id: str = own.client.good("POST", f"/{target.noun}s", target.body(name))[target.noun]["id"]
        return id

    with ThreadPoolExecutor(clients) as pool:
        ids = list(pool.map(create, names))
    client = Client(target)
    ended = {"available", "error"} if failing else {"available"}
    for id in ids:
        wait(lambda id=id: _status(client, target, id, failing=failing) in ended)  # type: ignore[misc]
    return ids


def wait(done: Callable[[], bool], poll: float = POLL) -> None:
    """Until something is so, looking every `poll` seconds."""
    end = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {PATIENCE:.0f} s in vain")
        time.sleep(poll)


def _status(client: Client, target: Target, id: str, *, failing: bool = False) -> str:
    status, answer = client.call("GET", f"/{target.noun}s/{id}")
    if status == 404:
        return "gone"
    found = str(answer[target.noun]["status"])
    if "error" in found and not failing:
        raise RuntimeError(f"{id} is {found}")
    return found


class Round:
    """One round: each method takes some samples of one or more figures and adds them to `samples`."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.client = Client(target)
        self.samples: dict[str, list[float]] = {}
        self._numbers = itertools.count()

    def steps(self) -> list[Callable[[], None]]:
        """The measurements in their order, so that two services can take turns."""
        shares = [self.access] if self.target.service == "share" else []
        return [self.lists, self.one, self.life, *shares, self.parallel]

    def lists(self) -> None:
        for limit, times in ((1000, 5), (100, 15)):
            path = f"/{self.target.noun}s/detail?limit={limit}"
            for _ in range(times):
                self._timed(f"detail {limit}", lambda path=path: self.client.raw("GET", path))  # type: ignore[misc]

    def one(self) -> None:
        (first,) = self.client.good("GET", f"/{self.target.noun}s?limit=1")[f"{self.target.noun}s"]
        for _ in range(60):
            self._timed("one", lambda: self.client.raw("GET", f"/{self.target.noun}s/{first['id']}"))

    def life(self) -> None:
        """Create until available, then delete until gone, one after the other."""
        for _ in range(8):
            begin = time.perf_counter()
            id = self._create()
            self._note("accept", begin)
            wait(lambda id=id: _status(self.client, self.target, id) == "available")  # type: ignore[misc]
            self._note("available", begin)
            self._timed("gone", lambda id=id: self._delete(id))  # type: ignore[misc]

    def access(self) -> None:
        share = self._create()
        wait(lambda: _status(self.client, self.target, share) == "available")
        for number in range(8):
            rule = {"access_type": "ip", "access_to": f"10.1.1.{number + 1}", "access_level": "rw"}
            self._timed("access", lambda rule=rule: self._allow(share, rule))  # type: ignore[misc]
        self._delete(share)

    def parallel(self) -> None:
        names = [self._name() for _ in range(PARALLEL)]
        begin = time.perf_counter()
        ids = create_all(self.target, names, PARALLEL)
        self._note("parallel", begin)
        for id in ids:
            self.client.good("DELETE", f"/{self.target.noun}s/{id}")
        for id in ids:
            wait(lambda id=id: _status(self.client, self.target, id) == "gone")  # type: ignore[misc]

    def _name(self) -> str:
        return f"bench-{next(self._numbers)}"

    def _create(self) -> str:
        body = self.target.body(self._name())
        id: str = self.client.good("POST", f"/{self.target.noun}s", body)[self.target.noun]["id"]
        return id

    def _delete(self, id: str) -> None:
        self.client.good("DELETE", f"/{self.target.noun}s/{id}")
        wait(lambda: _status(self.client, self.target, id) == "gone")

    def _allow(self, share: str, rule: dict[str, str]) -> None:
        made = self.client.good("POST", f"/shares/{share}/action", {"allow_access": rule})["access"]["id"]
        wait(lambda: self.client.good("GET", f"/share-access-rules/{made}")["access"]["state"] == "active")

    def _timed(self, figure: str, work: Callable[[], object]) -> None:
        begin = time.perf_counter()
        work()
        self._note(figure, begin)

    def _note(self, figure: str, begin: float) -> None:
        self.samples.setdefault(figure, []).append(time.perf_counter() - begin)
