"""A share worker that starts again: it takes requests at once, and makes sure of what is there meanwhile."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from pumice.kernel.db.base import new_id, utcnow
from pumice.share.backends import ShareBackend
from pumice.share.drivers.base import ShareRef
from pumice.share.shares.model import Share, ShareInstance
from tests.support.identity import PROJECT_A
from tests.support.shareservice import Shares

MANY = 1000
KEPT = {"sim": {"share_driver": "simulated", "simulated_directory": "backend", "simulated_capacity_gb": 10000}}


def ensured(shares: Shares) -> ShareBackend:
    """The backend, once it has made sure of all shares."""
    (backend,) = shares.service.backends
    assert isinstance(backend, ShareBackend)
    end = time.monotonic() + 150
    while not backend.ensured():
        assert time.monotonic() < end
        time.sleep(0.02)
    return backend


def fill(shares: Shares) -> list[str]:
    """Many shares, made without the API; the ids of their instances."""
    common: dict[str, Any] = {"project_id": PROJECT_A, "status": "available", "host": "here@sim#sim"}
    pairs = [(new_id(), new_id()) for _ in range(MANY)]

    def work(tx: Session) -> None:
        tx.add_all([Share(id=share, size=1, proto="NFS", **common) for share, _ in pairs])
        tx.flush()
        tx.add_all([ShareInstance(id=id, share_id=share, launched_at=utcnow(), **common) for share, id in pairs])

    shares.service.db.write(work)
    for share, id in pairs:
        shares.driver.create_share(ShareRef(id=id, size=1, proto="NFS", share_id=share))
    return [id for _, id in pairs]


def test_with_many_shares_a_restarted_worker_takes_requests_at_once(tmp_path: Path) -> None:
    with Shares(tmp_path, KEPT) as shares:
        ids = fill(shares)
        for id in ids[:10]:
            shares.driver.forget_export(id)
    again = Shares(tmp_path, KEPT)
    began = time.monotonic()
    with again:
        again.driver.dial("ensure_share", latency=0.01)
        share = again.share()
        # Three seconds is the promise; tests share the machine with others.
        assert time.monotonic() - began < 6
        ensured(again)
        assert again.driver.calls["ensure_share"] >= MANY - 10
        with again.service.db.read() as tx:
            instance = tx.query(ShareInstance).filter_by(share_id=share).one()
        assert again.driver.inventory().exports.keys() == {*ids, instance.id}


def test_exports_and_rules_come_back(tmp_path: Path) -> None:
    with Shares(tmp_path, KEPT) as shares:
        share = shares.share()
        body = {"access_type": "ip", "access_to": "10.0.0.1", "access_level": "ro"}
        rule = shares.act(share, "allow_access", body, status=200)["access"]["id"]
        assert shares.rest(f"/share-access-rules/{rule}", key="state") == "active"
        snapshot = shares.ok("POST", "/snapshots", {"snapshot": {"share_id": share}}, status=202)["snapshot"]["id"]
        assert shares.rest(f"/snapshots/{snapshot}") == "available"
        held = shares.driver.inventory().exports
        assert len(held) == 2
        backend = ensured(shares)
        for id in held:
            shares.driver.forget_export(id)
        assert shares.driver.inventory().exports == {}
        backend.tend()
        ensured(shares)
        assert shares.driver.inventory().exports == held
        assert shares.all_wrong() == []
        for id in held:
            shares.driver.forget_export(id)
    with Shares(tmp_path, KEPT) as again:
        ensured(again)
        assert again.driver.inventory().exports == held
        assert again.all_wrong() == []


def test_a_share_that_is_gone_keeps_no_other_from_coming_back(tmp_path: Path) -> None:
    with Shares(tmp_path, KEPT) as shares:
        lost, kept = shares.share(), shares.share()
        backend = ensured(shares)
        with shares.service.db.read() as tx:
            instances = {one.share_id: one.id for one in tx.query(ShareInstance)}
        shares.driver.lose(instances[lost])
        for id in instances.values():
            shares.driver.forget_export(id)
        backend.tend()
        ensured(shares)
        assert shares.driver.inventory().exports.keys() == {instances[kept]}
        shares.ok("DELETE", f"/shares/{lost}", status=202)
        assert shares.rest(f"/shares/{lost}") == "gone"
        assert shares.all_wrong() == []
