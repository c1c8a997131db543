"""Pools: what backends reported of their capacity, and what has been placed on them since.

A pool's row holds a *sample* (total, free, provisioned, as the backend gave them) and counters:

`allocated_gb`  everything placed on the pool, built or not; changed in the transaction that places, grows or
                removes a resource
`settled_gb`    the part of it that is built; changed in the transaction that ends the create, extend or delete
`sampled_gb`    the part of it that the sample surely contains: `settled_gb` as read before the sample was taken
`unsure_gb`     what the sample may contain although it counts as pending too

`allocated_gb - sampled_gb` is pending: what the sample does not surely contain. Room is always computed as if
none of it were in the sample, so a pool is never overcommitted; when there seems to be no room, `unsure_gb`
tells whether a newer sample could still show some.
"""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from operator import attrgetter
from typing import Any

from oslo_db.exception import DBDuplicateEntry
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Double,
    Row,
    UpdateBase,
    and_,
    bindparam,
    insert,
    not_,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Mapped, Session, mapped_column

from pumice.kernel import services
from pumice.kernel.db.base import Base, utcnow
from pumice.kernel.db.engine import changed, on

UNKNOWN, INFINITE = "unknown", "infinite"
LARGEST = 1e15
"""GiB from which a figure is taken to be without bound."""


class Pool(Base):
    """One pool; `host` is "host@backend#pool", where a cluster's name stands for its hosts.

    `total_gb` and `free_gb` are NULL when they are no number; `capabilities` then has the word for it. Rows of
    pools that are gone stay, with `present` false, for as long as their counters may be needed.
    """

    __tablename__ = "pools"

    host: Mapped[str] = mapped_column(primary_key=True)
    backend: Mapped[str] = mapped_column(index=True)
    present: Mapped[bool] = mapped_column(default=True)
    total_gb: Mapped[float | None] = mapped_column(Double)
    free_gb: Mapped[float | None] = mapped_column(Double)
    provisioned_gb: Mapped[float] = mapped_column(Double, default=0.0)
    thin: Mapped[bool] = mapped_column(default=False)
    reserved_percentage: Mapped[int] = mapped_column(default=0)
    max_over_subscription_ratio: Mapped[float] = mapped_column(Double, default=1.0)
    capabilities: Mapped[dict[str, Any]] = mapped_column(default=dict)
    reported_at: Mapped[datetime.datetime] = mapped_column(default=utcnow)
    allocated_gb: Mapped[int] = mapped_column(BigInteger, default=0)
    settled_gb: Mapped[int] = mapped_column(BigInteger, default=0)
    sampled_gb: Mapped[int] = mapped_column(BigInteger, default=0)
    unsure_gb: Mapped[int] = mapped_column(BigInteger, default=0)
    version: Mapped[int] = mapped_column(BigInteger, default=1)


@dataclass(frozen=True, slots=True)
class BackendState:
    """What the services table says of a backend ("host@backend") at this moment."""

    name: str
    availability_zone: str
    up: bool = True
    disabled: bool = False
    frozen: bool = False
    cluster: str | None = None
    taking: bool = field(init=False)
    """Whether it takes something new."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "taking", self.up and not self.frozen and not self.disabled)


@dataclass(frozen=True, slots=True)
class PoolState:
    """A pool as filters and weighers see it. Sizes are GiB; None is unknown, `math.inf` without bound.

    `thin_room` and `thick_room` are the largest thin and thick resource that fits: the same rule as the
    condition of `claim`. The ratios are to what the pool may hold in all, promised space included for thin;
    a free ratio is `math.inf` for a pool without bound, `-math.inf` where it cannot be known. All are computed
    once here, since thousands of pools are compared for each placement.
    """

    host: str
    state: BackendState
    total_gb: float | None
    free_gb: float | None
    provisioned_gb: float = 0.0
    thin: bool = False
    reserved_percentage: int = 0
    max_over_subscription_ratio: float = 1.0
    allocated_gb: int = 0
    pending_gb: int = 0
    unsure_gb: int = 0
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    thin_room: float = field(init=False)
    thick_room: float = field(init=False)
    thin_free_ratio: float = field(init=False)
    thick_free_ratio: float = field(init=False)
    placed_ratio: float = field(init=False)

    def __post_init__(self) -> None:
        thin, thick = self._rooms()
        physical = self.total_gb or 0.0
        virtual = physical * self.max_over_subscription_ratio if self.thin else physical
        placed = self.allocated_gb / virtual if 0 < virtual < math.inf else 0.0
        object.__setattr__(self, "thin_room", thin)
        object.__setattr__(self, "thick_room", thick)
        object.__setattr__(self, "thin_free_ratio", self._free_ratio(thin, virtual))
        object.__setattr__(self, "thick_free_ratio", self._free_ratio(thick, physical))
        object.__setattr__(self, "placed_ratio", min(1.0, placed))

    def _rooms(self) -> tuple[float, float]:
        total, free, ratio = self.total_gb, self.free_gb, self.max_over_subscription_ratio
        if free is None or free == math.inf:
            return math.inf, math.inf
        if total is None or total == math.inf:
            room = -math.inf if self.reserved_percentage else math.inf
            return room, room
        if total <= 0:
            return -math.inf, -math.inf
        reserved = total * self.reserved_percentage / 100.0
        thick = free - reserved - self.pending_gb
        if not self.thin:
            return thick, thick
        virtual = total * ratio - reserved - self.provisioned_gb - self.pending_gb
        return min(virtual, (free - reserved) * ratio - self.pending_gb), thick

    def _free_ratio(self, room: float, size: float) -> float:
        if self.free_gb is not None and 0 < size < math.inf:
            return room / size
        return math.inf if self.free_gb == math.inf else -math.inf

    @property
    def backend(self) -> str:
        return self.state.name

    def hopeful(self) -> PoolState:
        """The pool as it would be if the sample already contained all that it may contain."""
        return replace(self, pending_gb=self.pending_gb - self.unsure_gb, unsure_gb=0)


@dataclass(frozen=True, slots=True)
class PoolSample:
    """What a worker reports of one pool: its figures, and the capabilities that are no figures.

    `total_gb` and `free_gb`: None is unknown, `math.inf` without bound.
    """

    name: str
    total_gb: float | None
    free_gb: float | None
    provisioned_gb: float = 0.0
    thin: bool = False
    reserved_percentage: int = 0
    max_over_subscription_ratio: float = 1.0
    capabilities: Mapping[str, Any] = field(default_factory=dict)


def state_of(row: Pool | Row[Any], backend: BackendState) -> PoolState:
    """The pool's row as a state, with the capacity keys that the API shows among its capabilities."""
    reported = row.capabilities
    total = row.total_gb if row.total_gb is not None else _unbounded(reported.get("total_capacity_gb"))
    free = row.free_gb if row.free_gb is not None else _unbounded(reported.get("free_capacity_gb"))
    capabilities = {
        **reported,
        "pool_name": row.host.partition("#")[2],
        "total_capacity_gb": _word(total),
        "free_capacity_gb": _word(free),
        "provisioned_capacity_gb": row.provisioned_gb,
        "allocated_capacity_gb": row.allocated_gb,
        "reserved_percentage": row.reserved_percentage,
        "max_over_subscription_ratio": row.max_over_subscription_ratio,
        "thin_provisioning_support": row.thin,
        "timestamp": row.reported_at.isoformat(),
    }
    return PoolState(
        host=row.host,
        state=backend,
        total_gb=total,
        free_gb=free,
        provisioned_gb=row.provisioned_gb,
        thin=row.thin,
        reserved_percentage=row.reserved_percentage,
        max_over_subscription_ratio=row.max_over_subscription_ratio,
        allocated_gb=row.allocated_gb,
        pending_gb=row.allocated_gb - row.sampled_gb,
        unsure_gb=row.unsure_gb,
        capabilities=capabilities,
    )


def claim(
    tx: Session, host: str, gb: int, *, thick: bool = False, regardless: bool = False, binary: str | None = None
) -> bool:
    """Place `gb` on the pool if it has room; one conditional UPDATE. False: no room, or no such pool.

    Nothing (0) fits even where there is no room.
    :param regardless: of whether there is room: the backend decides (what it holds already, an administrator's word)
    :param binary: only if the backend, of services of this binary, takes what is new
    """
    statement = _claiming(room=bool(gb) and not regardless, thick=thick, new=binary is not None)
    of = {} if binary is None else services.of(host.partition("#")[0], binary)
    return bool(changed(tx, statement, {"the_host": host, "gb": gb, **of}))


def release(tx: Session, host: str, gb: int, *, settled: bool) -> None:
    """Take back a claim, or, when `settled`, what was built of it.

    Storage that was built is not room before a sample shows it: until then it may be in the last one.
    """
    changed(tx, _RELEASE_SETTLED if settled else _RELEASE, {"the_host": host, "gb": gb})


def settle(tx: Session, host: str, gb: int) -> None:
    """Note that `gb` of the pool's claims are built now."""
    changed(tx, _SETTLE, {"the_host": host, "gb": gb})


def settled_now(tx: Session, backend: str) -> dict[str, int]:
    """`settled_gb` of each of the backend's pools by host; read it before taking samples for `report`."""
    rows = tx.execute(select(Pool.host, Pool.settled_gb).where(Pool.backend == backend))
    return {row.host: row.settled_gb for row in rows}


def report(tx: Session, backend: str, samples: Sequence[PoolSample], settled: Mapping[str, int]) -> list[str]:
    """Store samples of all pools of a backend; pools that it no longer has are marked absent.

    `settled` is what `settled_now` gave before the samples were taken. Returns the hosts whose sample was not
    stored because something was settled or removed meanwhile: take them again. Skipping one is harmless: the
    old sample and the claims since then stay true.
    """
    by_host = {f"{backend}#{sample.name}": sample for sample in sorted(samples, key=attrgetter("name"))}
    before = {host: settled.get(host, 0) for host in by_host}
    rows = tx.execute(select(Pool.host, Pool.present).where(Pool.backend == backend))
    present = {row.host: row.present for row in rows}
    for host in sorted(by_host.keys() - present.keys()):
        _add(tx, host, backend)
    for host in sorted(present.keys() - by_host.keys()):
        if present[host]:
            changed(tx, _CHANGE, {"the_host": host, "present": False})
    if by_host:
        now = utcnow()
        tx.connection().execute(
            _STORE_SAMPLE,
            [{"the_host": host, "before": before[host], **_columns(s, now)} for host, s in by_host.items()],
        )
    return [host for host, gb in settled_now(tx, backend).items() if before.get(host, gb) != gb]


def check_claims(tx: Session, claims: Iterable[tuple[str, int]]) -> list[str]:
    """What is wrong with the counters, one text a pool; `claims` are GiB of resources on it, with its host."""
    found, sums = [], Counter[str]()
    for host, gb in claims:
        sums[host] += gb
    counters = {row.host: row for row in tx.execute(select(Pool.host, Pool.allocated_gb, Pool.settled_gb))}
    for host in sorted(counters.keys() | sums.keys()):
        row, placed = counters.get(host), sums[host]
        allocated, built = (row.allocated_gb, row.settled_gb) if row else (0, 0)
        if allocated != placed:
            found.append(f"pool {host}: {allocated} GiB are claimed, its resources sum up to {placed} GiB")
        if not 0 <= built <= allocated:
            found.append(f"pool {host}: {built} GiB are settled of {allocated} GiB claimed")
    return found


def _add(tx: Session, host: str, backend: str) -> None:
    try:
        with tx.begin_nested():
            tx.execute(insert(Pool).values(host=host, backend=backend, present=False, capabilities={}))
    except DBDuplicateEntry:
        return  # another worker of the cluster has just added it


_TABLE = on(Pool)
_GB = bindparam("gb", type_=BigInteger())
_CHANGE = update(_TABLE).where(_TABLE.c.host == bindparam("the_host")).values(version=_TABLE.c.version + 1)
_SETTLE = _CHANGE.values(settled_gb=_TABLE.c.settled_gb + _GB)
_RELEASE = _CHANGE.values(allocated_gb=_TABLE.c.allocated_gb - _GB)
_RELEASE_SETTLED = _RELEASE.values(
    settled_gb=_TABLE.c.settled_gb - _GB, sampled_gb=_TABLE.c.sampled_gb - _GB, unsure_gb=_TABLE.c.unsure_gb + _GB
)


@cache
def _claiming(*, room: bool, thick: bool, new: bool) -> UpdateBase:
    conditions = [_TABLE.c.present, *([_fits(thick)] if room else []), *([services.TAKES_NEW] if new else [])]
    return _CHANGE.where(*conditions).values(allocated_gb=_TABLE.c.allocated_gb + _GB)


def _fits(thick: bool) -> ColumnElement[bool]:
    """`PoolState.thin_room >= gb`, or `thick_room`, in SQL, with its operations in the same order."""
    pool = _TABLE.c
    reserved = pool.total_gb * pool.reserved_percentage / 100.0
    pending = pool.allocated_gb - pool.sampled_gb
    ratio = pool.max_over_subscription_ratio
    physical = pool.free_gb - reserved - pending >= _GB
    virtual = and_(
        pool.total_gb * ratio - reserved - pool.provisioned_gb - pending >= _GB,
        (pool.free_gb - reserved) * ratio - pending >= _GB,
    )
    by_numbers = physical if thick else or_(and_(pool.thin, virtual), and_(not_(pool.thin), physical))
    return or_(
        pool.free_gb.is_(None),
        and_(pool.total_gb.is_(None), pool.reserved_percentage == 0),
        and_(pool.total_gb > 0, by_numbers),
    )


_STORE_SAMPLE = (
    update(_TABLE)
    .where(_TABLE.c.host == bindparam("the_host"), _TABLE.c.settled_gb == bindparam("before"))
    .values(
        present=True,
        sampled_gb=_TABLE.c.settled_gb,
        unsure_gb=_TABLE.c.allocated_gb - _TABLE.c.settled_gb,
        version=_TABLE.c.version + 1,
        **{
            name: bindparam(f"new_{name}")
            for name in (
                "total_gb",
                "free_gb",
                "provisioned_gb",
                "thin",
                "reserved_percentage",
                "max_over_subscription_ratio",
                "capabilities",
                "reported_at",
            )
        },
    )
)


def _columns(sample: PoolSample, now: datetime.datetime) -> dict[str, Any]:
    words = {"total_capacity_gb": sample.total_gb, "free_capacity_gb": sample.free_gb}
    unbounded = {key: _word(gb) for key, gb in words.items() if _number(gb) is None}
    return {
        "new_total_gb": _number(sample.total_gb),
        "new_free_gb": _number(sample.free_gb),
        "new_provisioned_gb": sample.provisioned_gb,
        "new_thin": sample.thin,
        "new_reserved_percentage": sample.reserved_percentage,
        "new_max_over_subscription_ratio": sample.max_over_subscription_ratio,
        "new_capabilities": {**sample.capabilities, **unbounded},
        "new_reported_at": now,
    }


def _number(gb: float | None) -> float | None:
    """The figure to the KiB, so that no database overflows or underflows on it; None where it is none."""
    return round(gb, 6) if gb is not None and abs(gb) < LARGEST else None


def _word(gb: float | None) -> float | str:
    if gb is not None and gb >= LARGEST:
        return INFINITE
    return UNKNOWN if gb is None or _number(gb) is None else gb


def _unbounded(word: object) -> float | None:
    return math.inf if word == INFINITE else None
