"""A backend that only keeps account of what it was asked for, with faults dialled per call.

With `simulated_directory` every volume, snapshot and export is one small file there, made and removed atomically,
so that the backend's state outlives a killed worker (not a killed machine: nothing is synced); without it the
state is the object's own.
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from oslo_config import cfg

from pumice.block.drivers.base import Export, Inventory, SnapshotRef, VolumePoolStats, VolumeRef
from pumice.block.drivers.names import checked_export_id
from pumice.block.drivers.options import COMMON, over_subscription
from pumice.kernel.drivers import BackendError, NoSpace, ObjectMissing

OPTIONS = [
    *COMMON,
    cfg.FloatOpt("simulated_latency", default=0.0, min=0, help="Seconds that every call on an object takes."),
    cfg.FloatOpt("simulated_capacity_gb", default=1000.0, min=0, help="The size of each pool in GiB."),
    cfg.IntOpt("simulated_pools", default=1, min=1, help="How many pools there are."),
    cfg.BoolOpt("simulated_thin", default=False, help="Pools promise more than they have."),
    cfg.BoolOpt(
        "simulated_extended_by_compute",
        default=False,
        help="Attached volumes are extended by the compute service, which reports the end (3.71).",
    ),
    cfg.StrOpt(
        "simulated_directory", help="Where the state is kept, below state_path unless absolute; by default in memory."
    ),
    cfg.StrOpt(
        "simulated_script",
        help='A JSON file of faults, {"<call or *>": {...} or [{...}, ...]} with the keys of `Dial`; '
        "a change of the file counts from the next call on.",
    ),
]


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
    """An object on the backend: its size in GiB, its pool and what it was made of, or an export's connection."""

    size: int = 0
    pool: str = ""
    origin: str | None = None
    connection: dict[str, Any] | None = None


class Shelf:
    """Objects of one kind by id: in a directory, one file each, or in memory."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._held: dict[str, Holding] = {}

    def open(self) -> None:
        if self._directory:
            self._directory.mkdir(parents=True, exist_ok=True)
            for path in self._directory.glob(".*"):  # what a killed worker was about to rename
                path.unlink(missing_ok=True)

    def get(self, key: str) -> Holding | None:
        if not self._directory:
            return self._held.get(key)
        try:
            return msgspec.json.decode((self._directory / checked_export_id(key)).read_bytes(), type=Holding)
        except FileNotFoundError:
            return None

    def put(self, key: str, holding: Holding) -> None:
        if not self._directory:
            self._held[key] = holding
            return
        path = self._directory / checked_export_id(key)
        draft = path.with_name(f".{key}.{uuid.uuid4().hex}")
        draft.write_bytes(msgspec.json.encode(holding))
        draft.replace(path)

    def pop(self, key: str) -> Holding | None:
        held = self.get(key)
        if not self._directory:
            return self._held.pop(key, None)
        (self._directory / checked_export_id(key)).unlink(missing_ok=True)
        return held

    def ids(self) -> frozenset[str]:
        if not self._directory:
            return frozenset(self._held)
        return frozenset(path.name for path in self._directory.iterdir() if not path.name.startswith("."))


class SimulatedDriver:
    """The `simulated` backend. One pool has the backend's name, several are `<name>-00000` and so on.

    `calls` counts the calls by name. What pools have provisioned is counted in memory from `start` on: with a
    directory, one process at a time knows it exactly.
    """

    vendor = "Pumice"
    version = "1.0"
    protocol = "iSCSI"
    options: Sequence[cfg.Opt] = OPTIONS

    def __init__(self, section: cfg.ConfigOpts.GroupAttr, *, name: str, state_dir: Path) -> None:
        self._section = section
        base = section.volume_backend_name or name
        count = section.simulated_pools
        self._pools = [base] if count == 1 else [f"{base}-{number:05}" for number in range(count)]
        root = state_dir / section.simulated_directory if section.simulated_directory else None
        self._volumes, self._snapshots, self._exports = (
            Shelf(root / kind if root else None) for kind in ("volumes", "snapshots", "exports")
        )
        self.calls: Counter[str] = Counter()
        self._lock = threading.RLock()
        self._provisioned: Counter[str] = Counter()
        self._dials: dict[str, list[Dial]] = {}
        self._script: dict[str, list[Dial]] = {}
        self._script_stamp: tuple[int, int] | None = None
        self._released = threading.Event()
        self._stopped = False

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
            self._drop(self._volumes, id)
            self._drop(self._snapshots, id)
            self._exports.pop(id)

    # The contract

    def start(self) -> None:
        with self._lock:
            self._stopped = False
            self._provisioned.clear()
            for shelf in (self._volumes, self._snapshots, self._exports):
                shelf.open()
                for key in shelf.ids():
                    held = shelf.get(key)
                    if held and held.size:
                        self._provisioned[held.pool] += held.size

    def stop(self) -> None:
        """End the calls that hang, with a failure."""
        self._stopped = True
        self.release()

    def pools(self) -> Sequence[VolumePoolStats]:
        section, total = self._section, self._section.simulated_capacity_gb
        with self._lock:
            provisioned = dict(self._provisioned)
        return [
            VolumePoolStats(
                name=pool,
                total_gb=total,
                free_gb=total if section.simulated_thin else max(total - provisioned.get(pool, 0), 0),
                provisioned_gb=provisioned.get(pool, 0),
                thin=section.simulated_thin,
                reserved_percentage=section.reserved_percentage,
                max_over_subscription_ratio=over_subscription(section.max_over_subscription_ratio, 0, 0),
                filter_function=section.filter_function,
                goodness_function=section.goodness_function,
            )
            for pool in self._pools
        ]

    def inventory(self) -> Inventory:
        return Inventory(self._volumes.ids(), self._snapshots.ids(), self._exports.ids())

    def create_volume(self, volume: VolumeRef) -> None:
        with self._call("create_volume", volume.id):
            self._make_volume(volume, None)

    def delete_volume(self, volume: VolumeRef) -> None:
        with self._call("delete_volume", volume.id), self._lock:
            self._drop(self._volumes, volume.id)

    def extend_volume(self, volume: VolumeRef, new_size: int) -> None:
        with self._call("extend_volume", volume.id), self._lock:
            held = self._volume(volume)
            growth = new_size - held.size
            if growth > 0:
                self._charge(held.pool, growth)
                self._volumes.put(volume.id, msgspec.structs.replace(held, size=new_size))

    def extended_by_compute(self, volume: VolumeRef) -> bool:  # noqa: ARG002
        extends: bool = self._section.simulated_extended_by_compute
        return extends

    def connect(self, export: Export) -> Mapping[str, Any]:
        with self._call("connect", export.id, export.volume.id), self._lock:
            self._volume(export.volume)
            held = self._exports.get(export.id)
            connection = export.connection or (held and held.connection) or _connection(export)
            self._exports.put(export.id, Holding(connection=dict(connection), origin=export.volume.id))
        return connection

    def disconnect(self, export: Export) -> None:
        with self._call("disconnect", export.id, export.volume.id):
            self._exports.pop(export.id)

    def create_snapshot(self, snapshot: SnapshotRef) -> None:
        with self._call("create_snapshot", snapshot.id), self._lock:
            held = self._volume(snapshot.volume)
            if not self._snapshots.get(snapshot.id):
                self._snapshots.put(snapshot.id, Holding(0, held.pool, snapshot.volume.id))

    def delete_snapshot(self, snapshot: SnapshotRef) -> None:
        with self._call("delete_snapshot", snapshot.id), self._lock:
            self._drop(self._snapshots, snapshot.id)

    def create_volume_from_snapshot(self, volume: VolumeRef, snapshot: SnapshotRef) -> None:
        with self._call("create_volume_from_snapshot", volume.id):
            self._snapshot(snapshot)
            self._make_volume(volume, snapshot.id)

    def clone_volume(self, volume: VolumeRef, source: VolumeRef) -> None:
        with self._call("clone_volume", volume.id):
            self._volume(source)
            self._make_volume(volume, source.id)

    def revert_to_snapshot(self, volume: VolumeRef, snapshot: SnapshotRef) -> None:
        with self._call("revert_to_snapshot", volume.id), self._lock:
            self._snapshot(snapshot)
            self._volumes.put(volume.id, msgspec.structs.replace(self._volume(volume), origin=snapshot.id))

    # The account

    def _volume(self, volume: VolumeRef) -> Holding:
        held = self._volumes.get(volume.id)
        if not held:
            raise ObjectMissing(f"volume {volume.id} is not on the simulated backend")
        return held

    def _snapshot(self, snapshot: SnapshotRef) -> Holding:
        held = self._snapshots.get(snapshot.id)
        if not held:
            raise ObjectMissing(f"snapshot {snapshot.id} is not on the simulated backend")
        return held

    def _make_volume(self, volume: VolumeRef, origin: str | None) -> None:
        with self._lock:
            if not self._volumes.get(volume.id):
                pool = volume.pool or self._pools[0]
                self._charge(pool, volume.size)
                self._volumes.put(volume.id, Holding(volume.size, pool, origin))

    def _charge(self, pool: str, size: int) -> None:
        """:raises NoSpace: a pool that is not thin would hold more than its size"""
        room = self._section.simulated_capacity_gb - self._provisioned[pool]
        if size > room and not self._section.simulated_thin:
            raise NoSpace(f"pool {pool} has no room for {size} GiB: {room:g} GiB are free")
        self._provisioned[pool] += size

    def _drop(self, shelf: Shelf, id: str) -> None:
        held = shelf.pop(id)
        if held:
            self._provisioned[held.pool] -= held.size

    @contextlib.contextmanager
    def _call(self, call: str, *ids: str) -> Iterator[None]:
        """The faults around a call's work; `ids` are those that a dial may match."""
        with self._lock:
            self.calls[call] += 1
            dial = self._dial_for(call, ids)
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

    def _dial_for(self, call: str, ids: tuple[str, ...]) -> Dial:
        """The first dial that matches, which is used up by its last call."""
        self._read_script()
        for dials in (source.get(key, []) for source in (self._dials, self._script) for key in (call, "*")):
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


def _connection(export: Export) -> dict[str, Any]:
    data = {
        "target_discovered": False,
        "target_portal": "127.0.0.1:3260",
        "target_iqn": f"iqn.2026-11.org.pumice.simulated:volume-{export.volume.id}.{export.id}",
        "target_lun": 1,
        "volume_id": export.volume.id,
        "auth_method": "CHAP",
        "auth_username": uuid.uuid4().hex,
        "auth_password": uuid.uuid4().hex,
    }
    return {"driver_volume_type": "iscsi", "data": data}
