from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import delete, select, update

from pumice.kernel import services
from pumice.kernel.db.base import Base
from pumice.kernel.db.clock import later
from pumice.kernel.db.engine import Database
from pumice.kernel.errors import BadRequest, NotFound
from pumice.kernel.services import Cluster, Identity, WorkerService
from tests.support.databases import url_of
from tests.support.waiting import LONG

VOLUME = "cinder-volume"
DOWN = 60


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    db = Database(url_of(tmp_path / "db.sqlite"))
    Base.metadata.create_all(db.engine, tables=[WorkerService.__table__, Cluster.__table__])
    yield db
    db.close()


def worker(host: str, cluster: str | None = None, zone: str = "nova", binary: str = VOLUME) -> Identity:
    return Identity(host, binary, "volume", zone, cluster)


def registered(db: Database, *identities: Identity) -> list[int]:
    return db.write(lambda tx: [services.register(tx, identity) for identity in identities])


def aged(db: Database, service_id: int, seconds: float) -> None:
    db.write(lambda tx: tx.execute(update(WorkerService).filter_by(id=service_id).values(last_seen=later(-seconds))))


def hosts(db: Database, **filters: object) -> list[str]:
    with db.read() as tx:
        return [row.host for row in services.find(tx, **filters)]


def get(db: Database, service_id: int) -> WorkerService:
    with db.read() as tx:
        return tx.get_one(WorkerService, service_id)


def test_registering_again_keeps_the_row_and_what_admins_set(db: Database) -> None:
    (first,) = registered(db, worker("a@one"))
    db.write(lambda tx: services.set_disabled(tx, "a@one", VOLUME, True, "repair"))
    (second,) = registered(db, Identity("a@one", VOLUME, "volume", "z2"))
    row = get(db, first)
    assert second == first
    assert (row.disabled, row.disabled_reason, row.availability_zone) == (True, "repair", "z2")


def test_workers_that_register_at_once_share_one_row(db: Database) -> None:
    ids: list[int] = []
    threads = [threading.Thread(target=lambda: ids.extend(registered(db, worker("a@one", "c")))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 8
    assert len(set(ids)) == 1


@pytest.mark.parametrize(
    ("age", "up"),
    [(0, True), (DOWN - 1, True), (DOWN, True), (DOWN + 1, False), (-DOWN + 1, True), (-DOWN - 1, False)],
)
def test_up_is_a_matter_of_age(age: int, up: bool) -> None:
    assert services.is_up(WorkerService(age=age), DOWN) is up


@pytest.mark.parametrize("seconds", [0, 90, -90])
def test_the_age_is_that_of_the_databases_clock(db: Database, seconds: int) -> None:
    (service,) = registered(db, worker("a@one"))
    if seconds:
        aged(db, service, seconds)
    assert seconds - 1 < get(db, service).age < seconds + LONG


def test_a_beat_brings_it_up_again(db: Database) -> None:
    (service,) = registered(db, worker("a@one"))
    aged(db, service, 300)
    assert not services.is_up(get(db, service), DOWN)
    assert db.write(lambda tx: services.beat(tx, service, backend_state="down"))
    row = get(db, service)
    assert services.is_up(row, DOWN)
    assert (row.report_count, row.backend_state) == (1, "down")


def test_a_beat_of_a_removed_service_says_so(db: Database) -> None:
    (service,) = registered(db, worker("a@one"))
    db.write(lambda tx: tx.execute(delete(WorkerService)))
    assert not db.write(lambda tx: services.beat(tx, service))


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["a@one", "a@two", "ab@one", "a"]),
        ({"host": "a"}, ["a@one", "a@two", "a"]),
        ({"host": "a@one"}, ["a@one"]),
        ({"host": "a%"}, []),
        ({"binary": "cinder-scheduler"}, ["a"]),
        ({"host": "a", "binary": VOLUME}, ["a@one", "a@two"]),
        ({"cluster": "c"}, ["a@two"]),
        ({"availability_zone": "z"}, ["ab@one"]),
        ({"disabled": True}, ["a@two"]),
        ({"disabled": False, "topic": "volume"}, ["a@one", "ab@one", "a"]),
        ({"topic": "none"}, []),
    ],
)
def test_finding(db: Database, filters: dict[str, object], expected: list[str]) -> None:
    registered(
        db, worker("a@one"), worker("a@two", "c"), worker("ab@one", zone="z"), worker("a", binary="cinder-scheduler")
    )
    db.write(lambda tx: services.set_disabled(tx, "a@two", VOLUME, True))
    assert hosts(db, **filters) == expected


def test_enabling_clears_the_reason(db: Database) -> None:
    (service,) = registered(db, worker("a@one"))
    db.write(lambda tx: services.set_disabled(tx, "a@one", VOLUME, True, "repair"))
    assert (get(db, service).disabled, get(db, service).disabled_reason) == (True, "repair")
    db.write(lambda tx: services.set_disabled(tx, "a@one", VOLUME, False, "ignored"))
    assert (get(db, service).disabled, get(db, service).disabled_reason) == (False, None)


def test_disabling_what_is_not_there(db: Database) -> None:
    registered(db, worker("a@one"))
    with pytest.raises(NotFound, match="cinder-backup on host a@one"):
        db.write(lambda tx: services.set_disabled(tx, "a@one", "cinder-backup", True))
    with pytest.raises(NotFound, match="Cluster none"):
        db.write(lambda tx: services.set_cluster_disabled(tx, "none", VOLUME, True))


def test_a_cluster_decides_for_its_services_and_those_that_join(db: Database) -> None:
    registered(db, worker("a", "c"), worker("b", "c"), worker("x", "other"))
    db.write(lambda tx: services.set_cluster_disabled(tx, "c", VOLUME, True, "move"))
    registered(db, worker("late", "c"))
    assert hosts(db, disabled=True) == ["a", "b", "late"]
    db.write(lambda tx: services.set_cluster_disabled(tx, "c", VOLUME, False))
    assert hosts(db, disabled=True) == []


def test_freezing(db: Database) -> None:
    ids = registered(db, worker("a@one"), worker("b@one", "c"), worker("b@two", "d"), worker("e", "d"))

    def frozen() -> list[bool]:
        return [get(db, service).frozen for service in ids]

    db.write(lambda tx: services.set_frozen(tx, VOLUME, True, host="a@one"))
    assert frozen() == [True, False, False, False]
    db.write(lambda tx: services.set_frozen(tx, VOLUME, True, host="b@two"))
    assert frozen() == [True, False, True, True]
    with db.read() as tx:
        assert [row.name for row in tx.scalars(select(Cluster).filter_by(frozen=True))] == ["d"]
    db.write(lambda tx: services.set_frozen(tx, VOLUME, False, cluster="d"))
    assert frozen() == [True, False, False, False]


@pytest.mark.parametrize(
    ("frozen", "where", "complaint"),
    [
        (True, {}, "Exactly one"),
        (True, {"host": "a@one", "cluster": "c"}, "Exactly one"),
        (True, {"host": "none"}, "No cinder-volume service is known as none"),
        (True, {"host": "b"}, "different clusters"),
        (True, {"host": "a@one"}, "already frozen"),
        (False, {"host": "b@one"}, "not frozen"),
    ],
)
def test_freezing_refused(db: Database, frozen: bool, where: dict[str, str], complaint: str) -> None:
    registered(db, worker("a@one"), worker("b@one", "c"), worker("b@two", "d"))
    db.write(lambda tx: services.set_frozen(tx, VOLUME, True, host="a@one"))
    with pytest.raises(BadRequest, match=complaint):
        db.write(lambda tx: services.set_frozen(tx, VOLUME, frozen, **where))


def test_clusters_add_up_their_services(db: Database) -> None:
    old, _, gone, _ = registered(db, worker("a", "c"), worker("b", "c"), worker("x", "d"), worker("alone"))
    aged(db, old, 100)
    aged(db, gone, 100)
    with db.read() as tx:
        c, d = services.clusters(tx, DOWN)
    assert (c.name, c.binary, c.is_up, c.num_hosts, c.num_down_hosts) == ("c", VOLUME, True, 2, 1)
    assert (d.name, d.is_up, d.num_hosts, d.num_down_hosts) == ("d", False, 1, 1)
    assert c.last_heartbeat is not None
    assert d.last_heartbeat == get(db, gone).last_seen
    assert c.replication_status == "not-capable"


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"is_up": True}, ["c"]),
        ({"num_down_hosts": 1}, ["d"]),
        ({"name": "d", "binary": VOLUME}, ["d"]),
        ({"name": "d", "binary": "x"}, []),
        ({"disabled": True}, ["c"]),
    ],
)
def test_clusters_filtered(db: Database, filters: dict[str, object], expected: list[str]) -> None:
    _, gone = registered(db, worker("a", "c"), worker("x", "d"))
    aged(db, gone, 100)
    db.write(lambda tx: services.set_cluster_disabled(tx, "c", VOLUME, True))
    with db.read() as tx:
        assert [state.name for state in services.clusters(tx, DOWN, **filters)] == expected


def test_a_zone_needs_one_enabled_service(db: Database) -> None:
    registered(db, worker("a", zone="z2"), worker("b", zone="z2"), worker("c", zone="z1"))
    registered(db, worker("s", zone="z3", binary="cinder-scheduler"))
    for host in ("a", "c"):
        db.write(lambda tx, host=host: services.set_disabled(tx, host, VOLUME, True))
    with db.read() as tx:
        assert services.zones(tx) == {"z1": False, "z2": True, "z3": True}
        assert services.zones(tx, binary=VOLUME) == {"z1": False, "z2": True}
