"""A scheduler's view of all pools, kept in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from pumice.kernel import services
from pumice.kernel.db.engine import Database
from pumice.kernel.scheduling.pool import BackendState, Pool, PoolState, state_of

if TYPE_CHECKING:
    from pumice.kernel.service import Service

CHUNK = 500
"""Hosts named in one SELECT."""


def known_pools(service: Service, binary: str) -> list[PoolState]:
    """All pools of the backends of `binary`, as the rows say now, by name."""
    view = PoolView(service.db, lambda tx: backend_states(tx, binary, service.conf.service_down_time))
    return sorted(view.pools(), key=lambda pool: pool.host)


def open_pools(service: Service, binary: str) -> list[PoolState]:
    """Those that new resources may go to: of backends that are up and enabled."""
    return [pool for pool in known_pools(service, binary) if pool.state.up and not pool.state.disabled]


class PoolView:
    """The pools of the database as `PoolState`s, at most `max_age` seconds old.

    Only rows whose `version` changed are read again. Pools of a backend that `backends` doesn't give are left out.

    :param backends: reads the state of every backend (up or down by its heartbeat's age) in the given session
    """

    def __init__(
        self,
        db: Database,
        backends: Callable[[Session], Iterable[BackendState]],
        *,
        max_age: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._db = db
        self._read_backends = backends
        self._max_age = max_age
        self._clock = clock
        self._lock = threading.Lock()
        self._heard: set[str] = set()
        self._read_at: float | None = None
        self._backends: dict[str, BackendState] = {}
        self._rows: dict[str, Row[Any]] = {}
        self._states: dict[str, PoolState] = {}
        self._pools: list[PoolState] = []

    def pools(self) -> Sequence[PoolState]:
        """All pools; the list stays as it is when the view changes."""
        if self._read_at is None or self._clock() - self._read_at > self._max_age:
            self.reread()
        elif self._heard:
            self.reread(self._heard.copy())
        return self._pools

    def hear(self, hosts: Iterable[str]) -> None:
        """Note that these pools have changed (a worker's fanout); the next `pools` reads them."""
        self._heard.update(hosts)

    def count(self, host: str, gb: int) -> None:
        """Count `gb` that were placed on a pool; its row, which says so too, need not be read for that."""
        with self._lock:
            state = self._states.get(host)
            if state is not None:
                self._states[host] = replace(
                    state, allocated_gb=state.allocated_gb + gb, pending_gb=state.pending_gb + gb
                )
                self._pools = list(self._states.values())

    def reread(self, hosts: Collection[str] | None = None) -> None:
        """Read these pools, or all that changed, from the database now."""
        with self._lock, self._db.read() as tx:
            if hosts is None:
                self._read_all(tx)
            else:
                self._heard.difference_update(hosts)
                self._take(tx, hosts)
            self._pools = list(self._states.values())

    def _read_all(self, tx: Session) -> None:
        now = self._clock()
        self._heard.clear()
        backends = {backend.name: backend for backend in self._read_backends(tx)}
        moved = {name for name, state in backends.items() if self._backends.get(name) != state}
        moved |= self._backends.keys() - backends.keys()
        self._backends = backends
        versions = {row.host: row.version for row in tx.execute(select(Pool.host, Pool.version).where(Pool.present))}
        for host in self._rows.keys() - versions.keys():
            self._forget(host)
        known = self._rows
        self._take(tx, [host for host, version in versions.items() if not _is(known.get(host), version)])
        for row in self._rows.values():
            if row.backend in moved:
                self._show(row)
        self._read_at = now

    def _take(self, tx: Session, hosts: Collection[str]) -> None:
        columns = Pool.__table__.columns
        wanted = list(hosts)
        for start in range(0, len(wanted), CHUNK):
            chunk = wanted[start : start + CHUNK]
            found = {row.host: row for row in tx.execute(select(*columns).where(Pool.host.in_(chunk), Pool.present))}
            for host in chunk:
                if host in found:
                    self._rows[host] = found[host]
                    self._show(found[host])
                else:
                    self._forget(host)

    def _show(self, row: Row[Any]) -> None:
        backend = self._backends.get(row.backend)
        if backend is None:
            self._states.pop(row.host, None)
        else:
            self._states[row.host] = state_of(row, backend)

    def _forget(self, host: str) -> None:
        self._rows.pop(host, None)
        self._states.pop(host, None)


def _is(row: Row[Any] | None, version: int) -> bool:
    return row is not None and row.version == version


def backend_states(tx: Session, binary: str, service_down_time: int) -> Iterable[BackendState]:
    """What the services table says of the backends; that of a cluster is up while one of its workers is."""
    states: dict[str, BackendState] = {}
    for row in services.find(tx, binary=binary):
        name = row.cluster or row.host
        up = services.is_up(row, service_down_time) and row.backend_state == "up"
        before = states.get(name)
        states[name] = BackendState(
            name=name,
            availability_zone=row.availability_zone,
            up=up or (before is not None and before.up),
            disabled=row.disabled,
            frozen=row.frozen,
            cluster=row.cluster,
        )
    return states.values()
