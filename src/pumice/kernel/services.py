"""Which workers there are: what they serve, when they last reported, and who of them takes no new work.

A row is a worker's promise: one a host and binary. Whether it is up is nowhere stored; `is_up` computes it from
the last report at the moment of the question. Both moments are those of the database's clock: a worker or a reader
whose own clock is wrong changes nothing.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oslo_db import exception as db_errors
from sqlalchemy import String, UniqueConstraint, bindparam, exists, or_, select, update
from sqlalchemy.orm import Mapped, Session, column_property, mapped_column

from pumice.kernel.db.base import Base, utcnow
from pumice.kernel.db.clock import later, since
from pumice.kernel.db.engine import TryAgain, changed, on
from pumice.kernel.errors import BadRequest, NotFound

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

FLAGS = ("disabled", "disabled_reason", "frozen", "replication_status", "active_backend_id")
"""What a cluster decides for all its services."""


class Member:
    """What a single worker and a whole cluster both have."""

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    binary: Mapped[str] = mapped_column(String(255))
    disabled: Mapped[bool] = mapped_column(default=False)
    disabled_reason: Mapped[str | None] = mapped_column(String(255))
    frozen: Mapped[bool] = mapped_column(default=False)
    replication_status: Mapped[str] = mapped_column(String(36), default="not-capable")
    active_backend_id: Mapped[str | None] = mapped_column(String(255))
    created_at: Mapped[datetime.datetime] = mapped_column(default=utcnow)


class WorkerService(Member, Base):
    """`age`: seconds since the last report when the row was read. `kinds` is written empty, since the schema wants it,
    until a release drops it."""

    __tablename__ = "services"
    __table_args__ = (UniqueConstraint("host", "binary"),)

    host: Mapped[str] = mapped_column(String(255))
    topic: Mapped[str] = mapped_column(String(255))
    cluster: Mapped[str | None] = mapped_column(String(255), index=True)
    availability_zone: Mapped[str] = mapped_column(String(255))
    backend_state: Mapped[str] = mapped_column(String(16), default="up")
    kinds: Mapped[dict[str, Any]] = mapped_column(default=dict)
    report_count: Mapped[int] = mapped_column(default=0)
    last_seen: Mapped[datetime.datetime] = mapped_column(default=later(), index=True)
    age: Mapped[float] = column_property(since(last_seen))


class Cluster(Member, Base):
    """The flags of a cluster are also written to all its services, and given to those that join later."""

    __tablename__ = "clusters"
    __table_args__ = (UniqueConstraint("name", "binary"),)

    name: Mapped[str] = mapped_column(String(255))
    updated_at: Mapped[datetime.datetime | None] = mapped_column(onupdate=utcnow)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a worker is. `host` names a backend as `host@backend` where the binary has backends."""

    host: str
    binary: str
    topic: str
    availability_zone: str = "nova"
    cluster: str | None = None


def is_up(row: WorkerService, service_down_time: int) -> bool:
    """Whether the last report is at most `service_down_time` seconds old (or ahead: nodes of a database may differ)."""
    return abs(row.age) <= service_down_time


def up(row: WorkerService, req: Request) -> bool:
    """Whether the worker's last report is recent enough."""
    return is_up(row, req.service.conf.service_down_time)


def state_word(row: WorkerService, req: Request) -> str:
    return "up" if up(row, req) else "down"


def status_word(row: Any, _req: Request) -> str:
    """Of a service, or of a cluster."""
    return "disabled" if row.disabled else "enabled"


def find(
    tx: Session,
    *,
    host: str | None = None,
    binary: str | None = None,
    topic: str | None = None,
    cluster: str | None = None,
    availability_zone: str | None = None,
    disabled: bool | None = None,
) -> Sequence[WorkerService]:
    """The services that match all that is given, ordered by id. A host without backend means all its backends."""
    statement = select(WorkerService).order_by(WorkerService.id)
    if host is not None:
        backends = WorkerService.host.startswith(f"{host}@", autoescape=True)
        statement = statement.where(or_(WorkerService.host == host, backends))
    wanted = {
        "binary": binary,
        "topic": topic,
        "cluster": cluster,
        "availability_zone": availability_zone,
        "disabled": disabled,
    }
    return tx.scalars(statement.filter_by(**{name: value for name, value in wanted.items() if value is not None})).all()


def register(tx: Session, identity: Identity) -> int:
    """Write who the worker is, and a first report; what an admin set (disabled, frozen) stays.

    :returns: the service's id
    """
    statement = select(WorkerService).filter_by(host=identity.host, binary=identity.binary)
    row = tx.scalars(statement).one_or_none()
    if row is None:
        row = WorkerService(host=identity.host, binary=identity.binary)
    if identity.cluster and identity.cluster != row.cluster:
        _take_over_flags(tx, row, identity.cluster)
    row.topic = identity.topic
    row.cluster = identity.cluster
    row.availability_zone = identity.availability_zone
    row.last_seen = later()
    tx.add(row)
    try:
        tx.flush()
    except db_errors.DBDuplicateEntry as error:
        # Another process of this worker or cluster registered first; the next run finds its row.
        raise TryAgain from error
    return row.id


def _take_over_flags(tx: Session, row: WorkerService, name: str) -> None:
    cluster = tx.scalars(select(Cluster).filter_by(name=name, binary=row.binary)).one_or_none()
    if cluster is None:
        tx.add(Cluster(name=name, binary=row.binary))
        return
    for flag in FLAGS:
        setattr(row, flag, getattr(cluster, flag))


def beat(tx: Session, service_id: int, *, backend_state: str = "up") -> bool:
    """Report. False: the row is gone, and the worker has to register again."""
    values = {"last_seen": later(), "report_count": WorkerService.report_count + 1, "backend_state": backend_state}
    return changed(tx, update(WorkerService).where(WorkerService.id == service_id).values(values)) == 1


def set_disabled(tx: Session, host: str, binary: str, disabled: bool, reason: str | None = None) -> WorkerService:
    """Have a service take no new work, or take it again (which clears the reason).

    :raises NotFound: there is no such service
    """
    row = tx.scalars(select(WorkerService).filter_by(host=host, binary=binary)).one_or_none()
    if row is None:
        raise NotFound(f"Service {binary} on host {host} could not be found.")
    row.disabled, row.disabled_reason = disabled, reason if disabled else None
    return row


def set_cluster_disabled(tx: Session, name: str, binary: str, disabled: bool, reason: str | None = None) -> None:
    """`set_disabled` for a cluster and all its services.

    :raises NotFound: there is no such cluster
    """
    values = {"disabled": disabled, "disabled_reason": reason if disabled else None}
    if not changed(tx, update(Cluster).where(Cluster.name == name, Cluster.binary == binary).values(values)):
        raise NotFound(f"Cluster {name} of {binary} could not be found.")
    members = update(WorkerService).where(WorkerService.cluster == name, WorkerService.binary == binary)
    changed(tx, members.values(values))


def set_frozen(tx: Session, binary: str, frozen: bool, *, host: str | None = None, cluster: str | None = None) -> None:
    """Freeze or thaw what `host` or `cluster` (exactly one) names; a clustered host brings its whole cluster.

    :raises BadRequest: nothing of that name, several clusters, or already so
    """
    if (host is None) == (cluster is None):
        raise BadRequest("Exactly one of host and cluster is needed.")
    rows = find(tx, binary=binary, host=host, cluster=cluster)
    name = host or cluster
    clusters = {row.cluster for row in rows}
    if not rows:
        raise BadRequest(f"No {binary} service is known as {name}.")
    if len(clusters) > 1:
        raise BadRequest(f"The services of {name} belong to different clusters; name one cluster.")
    (of_all,) = clusters
    if of_all is not None:
        changed(tx, update(Cluster).where(Cluster.name == of_all, Cluster.binary == binary).values(frozen=frozen))
        rows = find(tx, binary=binary, cluster=of_all)
    changing = update(WorkerService).where(WorkerService.id.in_([row.id for row in rows]))
    if not changed(tx, changing.where(WorkerService.frozen.is_(not frozen)).values(frozen=frozen)):
        raise BadRequest(f"{name} is {'already' if frozen else 'not'} frozen.")


_TABLE = on(WorkerService)
TAKES_NEW = ~exists().where(
    or_(_TABLE.c.host == bindparam("of_backend"), _TABLE.c.cluster == bindparam("of_backend")),
    _TABLE.c.binary == bindparam("of_binary"),
    or_(_TABLE.c.disabled, _TABLE.c.frozen),
)
"""Whether nobody has disabled or frozen the backend that its parameters (`of`) say."""


def of(backend: str, binary: str) -> dict[str, str]:
    """:param backend: a host's, or a cluster's name"""
    return {"of_backend": backend, "of_binary": binary}


@dataclass(frozen=True, slots=True)
class ClusterState:
    """A cluster with what its services add up to: it is up when one of them is."""

    name: str
    binary: str
    is_up: bool
    disabled: bool
    disabled_reason: str | None
    frozen: bool
    replication_status: str
    active_backend_id: str | None
    num_hosts: int
    num_down_hosts: int
    last_heartbeat: datetime.datetime | None
    created_at: datetime.datetime
    updated_at: datetime.datetime | None


def clusters(tx: Session, service_down_time: int, **filters: Any) -> list[ClusterState]:
    """All clusters whose fields (those of `ClusterState`) equal what is given, by name."""
    members: defaultdict[tuple[str | None, str], list[WorkerService]] = defaultdict(list)
    for service in tx.scalars(select(WorkerService).where(WorkerService.cluster.is_not(None))):
        members[service.cluster, service.binary].append(service)
    states = []
    for row in tx.scalars(select(Cluster).order_by(Cluster.name, Cluster.binary)):
        services = members[row.name, row.binary]
        up = sum(is_up(service, service_down_time) for service in services)
        state = ClusterState(
            name=row.name,
            binary=row.binary,
            is_up=up > 0,
            num_hosts=len(services),
            num_down_hosts=len(services) - up,
            last_heartbeat=max((service.last_seen for service in services), default=None),
            created_at=row.created_at,
            updated_at=row.updated_at,
            **{flag: getattr(row, flag) for flag in FLAGS},
        )
        if all(getattr(state, name) == value for name, value in filters.items()):
            states.append(state)
    return states


def zones(tx: Session, *, binary: str | None = None) -> dict[str, bool]:
    """The availability zones that services run in, by name, and whether an enabled one is among them."""
    found: dict[str, bool] = {}
    for service in find(tx, binary=binary):
        zone = service.availability_zone
        found[zone] = found.get(zone, False) or not service.disabled
    return dict(sorted(found.items()))
