"""What simulated backends of all services are made of: shelves of objects, an account of room, dialled faults."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from oslo_config import cfg

from pumice.kernel.drivers import BackendError, NoSpace, ObjectMissing, checked_name

OPTIONS = [
    cfg.FloatOpt("simulated_latency", default=0.0, min=0, help="Seconds that every call on an object takes."),
    cfg.FloatOpt("simulated_capacity_gb", default=1000.0, min=0, help="The size of each pool in GiB."),
    cfg.IntOpt("simulated_pools", default=1, min=1, help="How many pools there are."),
    cfg.BoolOpt("simulated_thin", default=False, help="Pools promise more than they have."),
    cfg.StrOpt(
        "simulated_directory", help="Where the state is kept, below state_path unless absolute; by default in memory."
    ),
    cfg.StrOpt(
        "simulated_script",
        help='A JSON file of faults, {"<call or *>": {...} or [{...}, ...]} with the keys of `Dial`; '
        "a change of the file counts from the next call on.",
    ),
]


DRAFT_SECONDS = 60.0
"""An object's file that is older than this and has no name yet gets none any more."""


class Dial(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What happens to calls on the objects whose id begins with `match`.

    :param latency: seconds the call takes, in place of `simulated_latency`
    :param fail: the call raises `BackendError` with this text
    :param fail_times: for how many calls all this counts, by default for all
    :param no_space: the failure is `NoSpace`
    :param hang: the call does not return before `release` or `stop`
    :param gone: the backend has lost the object before the call
    :param after: the work is done before the call fails or hangs: its answer is lost
    """

    match: str = ""
    latency: float | None = None
    fail: str | None = None
    fail_times: Annotated[int, msgspec.Meta(ge=1)] | None = None
    no_space: bool = False
    hang: bool = False
    gone: bool = False
    after: bool = False


Script = dict[str, Dial | list[Dial]]


class Holding(msgspec.Struct):
    """An object on a backend: what it takes of its pool in GiB. Services add what else they must know of it."""

    size: int = 0
    pool: str = ""


H = TypeVar("H", bound=Holding)


class Shelf(Generic[H]):
    """Objects of one kind by id: in a directory, one file each, or in memory; `what` they are called."""

    def __init__(self, what: str, holding: type[H], directory: Path | None) -> None:
        self._what = what
        self._holding = holding
        self._directory = directory
        self._held: dict[str, H] = {}

    def open(self) -> None:
        if self._directory:
            self._directory.mkdir(parents=True, exist_ok=True)
            for path in self._directory.glob(".*"):  # what a killed worker, or one that is at it, is about to rename
                with contextlib.suppress(FileNotFoundError):
                    if time.time() - path.stat().st_mtime > DRAFT_SECONDS:
                        path.unlink()

    def get(self, key: str) -> H | None:
        if not self._directory:
            return self._held.get(key)
        try:
            return msgspec.json.decode((self._directory / checked_name(key)).read_bytes(), type=self._holding)
        except FileNotFoundError:
            return None

    def need(self, key: str) -> H:
        """:raises ObjectMissing: it is not there"""
        held = self.get(key)
        if not held:
            raise ObjectMissing(f"{self._what} {key} is not on the simulated backend")
        return held

    def put(self, key: str, holding: H) -> None:
        if not self._directory:
            self._held[key] = holding
            return
        path = self._directory / checked_name(key)
        draft = path.with_name(f".{key}.{uuid.uuid4().hex}")
        draft.write_bytes(msgspec.json.encode(holding))
        draft.replace(path)

    def pop(self, key: str) -> H | None:
        held = self.get(key)
        if not self._directory:
            return self._held.pop(key, None)
        (self._directory / checked_name(key)).unlink(missing_ok=True)
        return held

    def ids(self) -> frozenset[str]:
        if not self._directory:
            return frozenset(self._held)
        return frozenset(path.name for path in self._directory.iterdir() if not path.name.startswith("."))


class Simulation(Generic[H]):
    """A backend that only keeps account of what it was asked for, with faults dialled per call.

    With `simulated_directory` every object is one small file there, made and removed atomically, so that the
    backend's state outlives a killed worker (not a killed machine: nothing is synced); without it the state is this
    object's own. One pool has the name `pool`, several are `<pool>-00000` and so on.

    `calls` counts the calls by name. What pools have provisioned is counted in memory from `start` on: with a
    directory, one process at a time knows it exactly.
    """

    def __init__(self, section: cfg.ConfigOpts.GroupAttr, holding: type[H], *, pool: str, state_dir: Path) -> None:
        self._section = section
        self._holding = holding
        count = section.simulated_pools
        self._pools = [pool] if count == 1 else [f"{pool}-{number:05}" for number in range(count)]
        self._root = state_dir / section.simulated_directory if section.simulated_directory else None
        self._shelves: list[Shelf[H]] = []
        self.calls: Counter[str] = Counter()
        self._lock = threading.RLock()
        self._provisioned: Counter[str] = Counter()
        self._dials: dict[str, list[Dial]] = {}
        self._script: dict[str, list[Dial]] = {}
        self._script_stamp: tuple[int, int] | None = None
        self._released = threading.Event()
        self._stopped = False

    def start(self) -> None:
        with self._lock:
            self._stopped = False
            self._provisioned.clear()
            for shelf in self._shelves:
                shelf.open()
                for key in shelf.ids():
                    held = shelf.get(key)
                    if held and held.size:
                        self._provisioned[held.pool] += held.size

    def stop(self) -> None:
        """End the calls that hang, with a failure."""
        self._stopped = True
        self.release()

    # Faults

    def dial(self, call: str, **fault: Any) -> Dial:
        """Add a fault (the fields of `Dial`) to a call, or to all with "*"; it goes before older ones."""
        dial = Dial(**fault)
        with self._lock:
            self._dials.setdefault(call, []).insert(0, dial)
        return dial

    def undial(self) -> None:
        """Forget all faults dialled from Python; calls that hang go on hanging."""
        with self._lock:
            self._dials.clear()

    def release(self) -> None:
        """Let the calls that hang now go on, as if they had only taken long."""
        with self._lock:
            released, self._released = self._released, threading.Event()
        released.set()

    def lose(self, id: str) -> None:
        """Remove an object behind everybody's back."""
        with self._lock:
            for shelf in self._shelves:
                self._drop(shelf, id)

    # For the drivers

    def _shelf(self, what: str) -> Shelf[H]:
        """A new shelf, for the constructor of a driver."""
        shelf = Shelf(what, self._holding, self._root / f"{what}s" if self._root else None)
        self._shelves.append(shelf)
        return shelf

    def _samples(self) -> Sequence[dict[str, Any]]:
        """Of each pool the fields of `PoolStats` that are the same for all services."""
        section, total = self._section, self._section.simulated_capacity_gb
        with self._lock:
            provisioned = dict(self._provisioned)
        return [
            {
                "name": pool,
                "total_gb": total,
                "free_gb": total if section.simulated_thin else max(total - provisioned.get(pool, 0), 0),
                "provisioned_gb": provisioned.get(pool, 0),
                "thin": section.simulated_thin,
            }
            for pool in self._pools
        ]

    def _charge(self, pool: str, size: int) -> None:
        """:raises NoSpace: a pool that is not thin would hold more than its size"""
        room = self._section.simulated_capacity_gb - self._provisioned[pool]
        if size > room and not self._section.simulated_thin:
            raise NoSpace(f"pool {pool} has no room for {size} GiB: {room:g} GiB are free")
        self._provisioned[pool] += size

    def _drop(self, shelf: Shelf[H], id: str) -> None:
        held = shelf.pop(id)
        if held:
            self._provisioned[held.pool] -= held.size

    @contextlib.contextmanager
    def _call(self, call: str, *ids: str) -> Iterator[None]:
        """The faults around a call's work; `ids` are those that a dial may match."""
        with self._lock:
            self.calls[call] += 1
            dial = self._dial_for((call, "*"), ids)
            released = self._released
        latency = self._section.simulated_latency if dial.latency is None else dial.latency
        if latency:
            threading.Event().wait(latency)
        if dial.gone:
            self.lose(ids[0])
        if dial.after:
            yield
        if dial.hang:
            if not self._stopped:
                released.wait()
            if self._stopped:
                raise BackendError(f"{call} was cut off: the simulated backend stopped")
        if dial.fail is not None or dial.no_space:
            raise (NoSpace if dial.no_space else BackendError)(dial.fail or "no space left")
        if not dial.after:
            yield

    def _dial_for(self, calls: Sequence[str], ids: Sequence[str]) -> Dial:
        """The first dial that matches, which is used up by its last call."""
        self._read_script()
        for dials in (source.get(key, []) for source in (self._dials, self._script) for key in calls):
            for dial in dials:
                if any(each.startswith(dial.match) for each in ids):
                    if dial.fail_times is not None:
                        dial.fail_times -= 1
                        if not dial.fail_times:
                            dials.remove(dial)
                    return dial
        return Dial()

    def _read_script(self) -> None:
        if not self._section.simulated_script:
            return
        path = Path(self._section.simulated_script)
        try:
            stat = path.stat()
            stamp = (stat.st_mtime_ns, stat.st_ino)
            if stamp == self._script_stamp:
                return
            script = msgspec.json.decode(path.read_bytes(), type=Script)
        except FileNotFoundError:
            stamp, script = None, {}
        except msgspec.DecodeError as error:
            raise BackendError(f"simulated_script {path} is refused: {error}") from error
        self._script_stamp = stamp
        self._script = {call: dials if isinstance(dials, list) else [dials] for call, dials in script.items()}
