from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pumice.kernel.db.engine import Database
from pumice.kernel.errors import OverLimit
from pumice.kernel.quotas import DEFAULT_CLASS, Quota, Quotas, adjust, check, refund
from tests.kernel.things import database

P, Q = "project-p", "project-q"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    made = database(tmp_path)
    yield made
    made.close()


@pytest.fixture
def quotas() -> Quotas:
    return Quotas({"volumes": 10, "gigabytes": 100})


def used(db: Database, quotas: Quotas, project: str) -> dict[str, int]:
    with db.read() as tx:
        return quotas.usages(tx, project)


def test_a_charge_adds_up_and_a_refund_takes_back(db: Database, quotas: Quotas) -> None:
    db.write(lambda tx: quotas.charge(tx, P, {"volumes": 1, "gigabytes": 5}))
    db.write(lambda tx: quotas.charge(tx, P, {"volumes": 2, "gigabytes": 7}))
    db.write(lambda tx: refund(tx, P, {"volumes": 1, "gigabytes": 5}))
    assert used(db, quotas, P) == {"volumes": 2, "gigabytes": 7}
    assert used(db, quotas, Q) == {}


def test_over_the_limit_nothing_is_charged_at_all(db: Database, quotas: Quotas) -> None:
    with pytest.raises(OverLimit, match=r"quota of volumes is exceeded: 11 more are asked for, 0 of 10"):
        db.write(lambda tx: quotas.charge(tx, P, {"gigabytes": 5, "volumes": 11}))
    assert used(db, quotas, P) == {}


def test_limits_of_the_project_go_before_those_of_the_default_class_and_the_configuration(
    db: Database, quotas: Quotas
) -> None:
    def limits() -> dict[str, int]:
        with db.read() as tx:
            return quotas.limits(tx, P, ["volumes", "gigabytes", "others"])

    assert limits() == {"volumes": 10, "gigabytes": 100, "others": -1}
    db.write(lambda tx: quotas.set_limits(tx, DEFAULT_CLASS, {"volumes": 5, "gigabytes": 50}))
    db.write(lambda tx: quotas.set_limits(tx, P, {"volumes": 3}))
    assert limits() == {"volumes": 3, "gigabytes": 50, "others": -1}
    db.write(lambda tx: quotas.drop_limits(tx, P))
    assert limits()["volumes"] == 5


def test_an_unlimited_project_is_never_refused_and_a_limit_below_the_use_stops_only_growth(
    db: Database, quotas: Quotas
) -> None:
    db.write(lambda tx: quotas.set_limits(tx, P, {"volumes": -1}))
    db.write(lambda tx: quotas.charge(tx, P, {"volumes": 1000}))
    db.write(lambda tx: quotas.set_limits(tx, P, {"volumes": 1}))
    with pytest.raises(OverLimit):
        db.write(lambda tx: quotas.charge(tx, P, {"volumes": 1}))
    db.write(lambda tx: quotas.charge(tx, P, {"volumes": -999}))
    with db.read() as tx:
        assert quotas.quotas(tx, P, ["volumes"]) == {"volumes": Quota(limit=1, in_use=1)}


def test_fifty_at_once_against_ten(db: Database, quotas: Quotas) -> None:
    results: list[bool] = []

    def create() -> None:
        try:
            db.write(lambda tx: quotas.charge(tx, P, {"volumes": 1, "gigabytes": 1}))
        except OverLimit:
            results.append(False)
        else:
            results.append(True)

    threads = [threading.Thread(target=create) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results.count(True) == 10
    assert used(db, quotas, P) == {"volumes": 10, "gigabytes": 10}


def test_the_check_names_every_difference(db: Database, quotas: Quotas) -> None:
    db.write(lambda tx: quotas.charge(tx, P, {"volumes": 2}))
    with db.read() as tx:
        assert check(tx, [(P, {"volumes": 2})]) == []
        assert check(tx, [(P, {"volumes": 2}), (P, {"volumes": 1}), (Q, {"gigabytes": 1})]) == [
            "project project-p: volumes counts 2, the rows say 3",
            "project project-q: gigabytes counts 0, the rows say 1",
        ]


def test_counters_go_beyond_what_one_resource_can_be(db: Database) -> None:
    largest = 2**31 - 1
    unlimited = Quotas({"gigabytes": -1})
    for _ in range(3):
        db.write(lambda tx: unlimited.charge(tx, P, {"gigabytes": largest}))
    with db.read() as tx:
        assert unlimited.usages(tx, P) == {"gigabytes": 3 * largest}


def test_one_thing_may_be_bounded_in_size(db: Database) -> None:
    quotas = Quotas({"one_gigabytes": 5})
    db.write(lambda tx: quotas.set_limits(tx, P, {"one_gigabytes:type": 3}))
    keys = ["one_gigabytes", "one_gigabytes:type", "one_gigabytes@user"]
    with db.read() as tx:
        quotas.check_size(tx, P, keys, 3)
        quotas.check_size(tx, Q, keys, 5)
        with pytest.raises(OverLimit, match=r"one_gigabytes:type is exceeded: one of 4 GiB is asked for, 3"):
            quotas.check_size(tx, P, keys, 4)
        with pytest.raises(OverLimit, match="one_gigabytes is exceeded"):
            quotas.check_size(tx, Q, keys, 6)


def test_what_is_a_fact_counts_whatever_the_limits(db: Database, quotas: Quotas) -> None:
    db.write(lambda tx: adjust(tx, P, {"gigabytes": 500, "volumes": 0}))
    assert used(db, quotas, P) == {"gigabytes": 500}
    db.write(lambda tx: adjust(tx, P, {"gigabytes": -200, "volumes": -1}))
    assert used(db, quotas, P) == {"gigabytes": 300}


def test_some_limits_of_an_owner_are_forgotten(db: Database, quotas: Quotas) -> None:
    db.write(lambda tx: quotas.set_limits(tx, P, {"volumes": 3, "volumes@user": 2, "volumes:type": 1}))
    db.write(lambda tx: quotas.drop_limits(tx, P, ["volumes@user", "gigabytes@user"]))
    with db.read() as tx:
        names = ["volumes", "volumes@user", "volumes:type", "gigabytes"]
        assert quotas.own_limits(tx, P, names) == {"volumes": 3, "volumes:type": 1}
        assert quotas.own_limits(tx, P, []) == {}
