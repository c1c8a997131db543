"""A client of tgtd's management socket.

tgtadm, the usual client, takes a CHAP password only as an argument, where every user of the machine reads it in
`ps`, and costs a process (1-2 ms) a call. What it sends is one fixed struct and a text of parameters: spoken
here directly, a call takes 0.03 ms and its password stays between the two processes.
"""

from __future__ import annotations

import enum
import re
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from pumice.kernel.drivers import BackendError

# mode, operation, low-level driver, length of all, tid, session id, lun, connection id, four that are of no use
# here (host number, device type, direction of an account, process id), force
_REQUEST = struct.Struct("=II64sIiQQIIIIII")
_REPLY = struct.Struct("=II")  # error, length of all
_NO_LUN = 2**64 - 1


class Mode(enum.IntEnum):
    TARGET = 1
    UNIT = 2
    CONNECTION = 6
    ACCOUNT = 7


class Op(enum.IntEnum):
    NEW = 0
    DELETE = 1
    SHOW = 2
    BIND = 3
    UPDATE = 5


class Code(enum.IntEnum):
    """The answers that callers tell apart."""

    NO_TARGET = 4
    NO_UNIT = 5
    NO_SESSION = 6
    NO_CONNECTION = 7
    TARGET_EXISTS = 9
    NO_ACCOUNT = 15
    TARGET_ACTIVE = 19
    UNIT_ACTIVE = 20


_TEXTS = {
    1: "unknown error",
    2: "out of memory",
    3: "no such driver",
    4: "no such target",
    5: "no such logical unit",
    6: "no such session",
    7: "no such connection",
    8: "no such binding",
    9: "the target exists",
    10: "the logical unit exists",
    11: "the binding exists",
    12: "the access rule exists",
    13: "no such access rule",
    14: "the account exists",
    15: "no such account",
    16: "too many accounts",
    17: "invalid request (or the file cannot be opened)",
    19: "the target is active",
    20: "the logical unit is active",
    21: "the driver is busy",
    22: "unsupported operation",
    23: "unknown parameter",
}


class TgtdError(BackendError):
    """tgtd refused a call; `code` says why."""

    def __init__(self, call: str, code: int) -> None:
        super().__init__(f"tgtd refused {call}: {_TEXTS.get(code, f'error {code}')}")
        self.code = code


class TgtdAbsent(BackendError):
    """Nothing answers at the management socket, so nothing is exported."""


@dataclass(frozen=True, slots=True)
class Target:
    """A target as tgtd lists it.

    `path`, `megabytes` (of 10^6 bytes, rounded) and `read_only` are those of unit 1, None without one.
    """

    tid: int
    name: str
    path: str | None
    megabytes: int | None
    read_only: bool | None
    accounts: frozenset[str]
    allowed: frozenset[str]


_SIZE = re.compile(r"Size: (\d+) MB")
_PATH = re.compile(r"Backing store path: (.*)")
_SESSION = re.compile(r"^ *(Session|Connection): (\d+)$", re.MULTILINE)


class Tgtd:
    """One tgtd, by the path of its management socket. Any thread may call; tgtd does one call at a time."""

    def __init__(self, path: str, timeout: float = 30.0) -> None:
        self.path = path
        self._timeout = timeout

    def call(
        self,
        mode: Mode,
        op: Op,
        tid: int = -1,
        lun: int = _NO_LUN,
        *,
        session: int = 0,
        connection: int = 0,
        force: bool = False,
        parameters: str = "",
    ) -> str:
        """Make one call and return its text.

        :raises TgtdError: tgtd refused it
        :raises TgtdAbsent: no tgtd listens there
        :raises BackendError: tgtd listens and does not answer, or may not be spoken to
        """
        text = parameters.encode() + b"\0" if parameters else b""
        length = _REQUEST.size + len(text)
        head = _REQUEST.pack(mode, op, b"iscsi", length, tid, session, lun, connection, 0, 0, 0, 0, force)
        try:
            code, answer = self._exchange(head + text)
        except (FileNotFoundError, ConnectionRefusedError):
            raise TgtdAbsent(f"tgtd does not run: nothing listens at {self.path}") from None
        except OSError as error:
            raise BackendError(f"tgtd at {self.path} does not answer: {error.strerror or error}") from error
        if code:
            raise TgtdError(f"{op.name.lower()} {mode.name.lower()}", code)
        return answer

    def _exchange(self, request: bytes) -> tuple[int, str]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.settimeout(self._timeout)
            link.connect(self.path)
            link.sendall(request)
            with link.makefile("rb") as answer:
                head = answer.read(_REPLY.size)
                if len(head) < _REPLY.size:
                    raise ConnectionResetError("it closed the connection")
                code, length = _REPLY.unpack(head)
                return code, answer.read(length - _REPLY.size).rstrip(b"\0").decode()

    def targets(self, name_part: str = "") -> Iterator[Target]:
        """The targets with `name_part` in their names.

        tgtd writes some 800 bytes for each target it has, in all 15 ms for a thousand.
        """
        listing = "\n" + self.call(Mode.TARGET, Op.SHOW)
        for block in listing.split("\nTarget ")[1:]:  # a regular expression takes ten times as long
            head, _, body = block.partition("\n")
            tid, name = head.split(": ", 1)
            if name_part not in name:
                continue
            unit = body.partition("        LUN: 1\n")[2]
            size, path = _SIZE.search(unit), _PATH.search(unit)
            yield Target(
                tid=int(tid),
                name=name,
                path=path[1] if path else None,
                megabytes=int(size[1]) if size else None,
                read_only=("    Readonly: Yes\n" in unit) if unit else None,
                accounts=_section(body, "Account information:"),
                allowed=_section(body, "ACL information:"),
            )

    def accounts(self) -> list[str]:
        return [line.strip() for line in self.call(Mode.ACCOUNT, Op.SHOW).splitlines()[1:]]

    def connections(self, tid: int) -> list[tuple[int, int]]:
        """Session id and connection id of each connection to a target; none where there is no such target."""
        session, found = 0, []
        try:
            listing = self.call(Mode.CONNECTION, Op.SHOW, tid)
        except TgtdError as error:
            if error.code == Code.NO_TARGET:
                return []
            raise
        for kind, number in _SESSION.findall(listing):
            if kind == "Session":
                session = int(number)
            else:
                found.append((session, int(number)))
        return found

    def drop_connections(self, tid: int) -> None:
        """Close the connections to a target. Initiators log in again by themselves and repeat what was open."""
        for session, connection in self.connections(tid):
            try:
                self.call(Mode.CONNECTION, Op.DELETE, tid, session=session, connection=connection)
            except TgtdError as error:
                if error.code not in {Code.NO_SESSION, Code.NO_CONNECTION}:
                    raise


def _section(body: str, title: str) -> frozenset[str]:
    """The first words of the lines below one title of a target's text, up to the next title."""
    lines = body.partition(f"    {title}\n")[2].splitlines()
    return frozenset(line.split()[0] for line in takewhile(lambda line: line.startswith("        "), lines))
