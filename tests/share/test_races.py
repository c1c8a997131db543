"""Many requests at the same moment: exactly the right ones win, and the others get a clean answer.

Those about access rules alone are in `access/test_rules.py` and `access/test_races.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from falcon.testing import Result

from pumice.kernel.operations.claims import Claims
from pumice.kernel.operations.ownership import LeaseLost
from pumice.kernel.operations.worker import Run
from pumice.kernel.scheduling.placing import SCHEDULER, Placer, schedule
from pumice.kernel.scheduling.scheduler import Scheduler
from pumice.kernel.scheduling.view import PoolView, backend_states
from pumice.share.service import ShareService
from pumice.share.shares.model import ShareInstance
from pumice.share.shares.placement import request_of
from tests.support.atonce import REFUSALS, at_once, codes, held, made_once, winner
from tests.support.shareservice import Shares
from tests.support.waiting import eventually

HOST = "here@sim#sim"


@pytest.fixture
def shares(tmp_path: Path) -> Iterator[Shares]:
    with Shares(tmp_path) as made:
        yield made
        assert made.all_wrong() == []


def new(shares: Shares, **values: Any) -> Result:
    return shares.call("POST", "/shares", {"share": {"share_proto": "NFS", "size": 1, **values}})


def act(shares: Shares, share: str, action: str, value: Any = None, who: str = "member_a") -> Result:
    return shares.call("POST", f"/shares/{share}/action", {action: value}, who=who)


def test_fifty_creates_against_a_quota_of_ten(tmp_path: Path) -> None:
    with Shares(tmp_path, sections={"quota": {"shares": 10}}) as shares:
        answers = at_once(50, lambda n: new(shares, name=f"s{n}"))
        assert codes(answers) == {200: 10, 413: 40}
        for answer in answers:
            if answer.status_code == 200:
                assert shares.rest(f"/shares/{answer.json['share']['id']}") == "available"
        assert shares.all_wrong() == []
        assert shares.ok("GET", "/limits")["limits"]["absolute"]["totalSharesUsed"] == 10


def test_of_creates_with_one_key_one_is_done_and_all_are_told_of_it(tmp_path: Path) -> None:
    wanted = {"share": {"share_proto": "NFS", "size": 1}}
    allow = {"allow_access": {"access_type": "ip", "access_to": "10.0.0.1"}}
    with Shares(tmp_path, sections={"quota": {"shares": 1}}) as shares:
        share = made_once(lambda: shares.call("POST", "/shares", wanted, key="s"), 200)
        assert shares.rest(f"/shares/{share}") == "available"
        rule = made_once(lambda: shares.call("POST", f"/shares/{share}/action", allow, key="r"), 200)
        rules = shares.ok("GET", f"/share-access-rules?share_id={share}")["access_list"]
        assert [one["id"] for one in rules] == [rule]
        assert shares.ok("GET", "/limits")["limits"]["absolute"]["totalSharesUsed"] == 1
        assert shares.rest(f"/share-access-rules/{rule}", key="state") == "active"
        assert shares.all_wrong() == []


def test_two_schedulers_fill_a_pool_to_the_last_gib_and_not_further(tmp_path: Path) -> None:
    backends = {"sim": {"share_driver": "simulated", "simulated_capacity_gb": 20, "simulated_latency": 0.05}}
    with Shares(tmp_path, backends) as shares:
        second = ShareService(shares.conf)
        second.start({"scheduler"})
        try:
            answers = at_once(40, lambda n: new(shares, name=f"s{n}"))
            assert codes(answers) == {200: 40}
            ids = [answer.json["share"]["id"] for answer in answers]
            ends = Counter(shares.rest(f"/shares/{id}", seconds=90) for id in ids)
        finally:
            second.stop()
        assert ends == {"available": 20, "error": 20}
        assert shares.all_wrong() == []


def test_of_parallel_extends_one_wins(shares: Shares) -> None:
    share = shares.share()
    with held(shares.driver):
        answers = at_once(12, lambda n: act(shares, share, "extend", {"new_size": 2 + n}))
    wanted = 2 + winner(answers, 202)
    assert shares.rest(f"/shares/{share}") == "available"
    assert shares.ok("GET", f"/shares/{share}")["share"]["size"] == wanted


def test_of_parallel_deletes_one_wins(shares: Shares) -> None:
    share = shares.share()
    with held(shares.driver):
        winner(at_once(12, lambda _: shares.call("DELETE", f"/shares/{share}")), 202)
    assert shares.rest(f"/shares/{share}") == "gone"


def test_of_parallel_reverts_one_wins(shares: Shares) -> None:
    share = shares.share()
    point = shares.snapshot(share)
    with held(shares.driver):
        winner(at_once(12, lambda _: act(shares, share, "revert", {"snapshot_id": point})), 202)
    assert shares.rest(f"/shares/{share}") == "available"
    assert shares.rest(f"/snapshots/{point}") == "available"
    assert shares.driver.calls["revert_to_snapshot"] == 1


def test_all_that_changes_a_share_excludes_all_else(shares: Shares) -> None:
    share = shares.share(size=3)
    asked: list[Callable[[], Result]] = [
        lambda: shares.call("DELETE", f"/shares/{share}"),
        lambda: act(shares, share, "extend", {"new_size": 5}),
        lambda: act(shares, share, "shrink", {"new_size": 1}),
        lambda: act(shares, share, "soft_delete"),
        lambda: act(shares, share, "unmanage", who="admin_a"),
    ]
    with held(shares.driver):
        answers = at_once(15, lambda n: asked[n % 5]())
    assert set(codes(answers)) <= {202} | REFUSALS
    accepted = sorted(n % 5 for n, answer in enumerate(answers) if answer.status_code == 202)
    assert accepted in ([0], [1], [2], [3], [4], [0, 3])  # what is in the recycle bin can still be deleted
    ends = {0: "gone", 1: "available", 2: "available", 3: "available", 4: "gone"}
    assert shares.rest(f"/shares/{share}") == ends[accepted[0]]


def test_snapshots_and_a_delete_of_their_share(shares: Shares) -> None:
    share = shares.share()

    def ask(n: int) -> Result:
        if n == 5:
            return shares.call("DELETE", f"/shares/{share}")
        return shares.call("POST", "/snapshots", {"snapshot": {"share_id": share}})

    with held(shares.driver):
        answers = at_once(10, ask)
    deletion = answers.pop(5)
    made = [answer.json["snapshot"]["id"] for answer in answers if answer.status_code == 202]
    assert set(codes([deletion, *answers])) <= {202, 413} | REFUSALS
    assert (deletion.status_code == 202) != bool(made)
    for id in made:
        assert shares.rest(f"/snapshots/{id}") == "available"
    assert shares.rest(f"/shares/{share}") == ("available" if made else "gone")


def test_a_revert_and_a_delete_of_its_snapshot_exclude_each_other(shares: Shares) -> None:
    share = shares.share()
    point = shares.snapshot(share)

    def ask(n: int) -> Result:
        if n % 2:
            return shares.call("DELETE", f"/snapshots/{point}")
        return act(shares, share, "revert", {"snapshot_id": point})

    with held(shares.driver):
        reverted = winner(at_once(12, ask), 202) % 2 == 0
    assert shares.rest(f"/shares/{share}") == "available"
    assert shares.rest(f"/snapshots/{point}") == ("available" if reverted else "gone")


def test_a_snapshot_stays_while_shares_are_made_of_it(shares: Shares) -> None:
    share = shares.share()
    point = shares.snapshot(share)
    with held(shares.driver):
        answers = at_once(4, lambda _: new(shares, snapshot_id=point))
        assert codes(answers) == {200: 4}
        shares.refused(400, "DELETE", f"/snapshots/{point}")
    for answer in answers:
        assert shares.rest(f"/shares/{answer.json['share']['id']}") == "available"
    shares.ok("DELETE", f"/snapshots/{point}", status=202)
    assert shares.rest(f"/snapshots/{point}") == "gone"


def test_a_share_is_taken_over_once(shares: Shares) -> None:
    path = shares.driver.put_foreign_share("old", 3)
    body = {"share": {"export_path": path, "service_host": HOST, "protocol": "NFS"}}
    with held(shares.driver):
        answers = at_once(8, lambda _: shares.call("POST", "/shares/manage", body, who="admin_a"))
    made = answers[winner(answers, 200)].json["share"]["id"]
    assert shares.rest(f"/shares/{made}") == "available"


def test_a_restored_share_is_not_deleted(shares: Shares) -> None:
    share = shares.share()
    shares.act(share, "soft_delete")
    restored, deleted = at_once(
        2, lambda n: shares.call("DELETE", f"/shares/{share}") if n else act(shares, share, "restore")
    )
    assert {restored.status_code, deleted.status_code} <= {202} | REFUSALS
    assert shares.rest(f"/shares/{share}") == ("gone" if deleted.status_code == 202 else "available")


def test_twenty_rules_of_a_snapshot_all_arrive(shares: Shares) -> None:
    point = shares.snapshot(shares.share())

    def allow(n: int) -> Result:
        body = {"allow_access": {"access_type": "ip", "access_to": f"10.0.0.{n}"}}
        return shares.call("POST", f"/snapshots/{point}/action", body)

    assert codes(at_once(20, allow)) == {202: 20}
    rules = f"/snapshots/{point}/access-list"
    eventually(lambda: {one["state"] for one in shares.ok("GET", rules)["snapshot_access_list"]} == {"active"})
    assert {f"ip 10.0.0.{n} ro" for n in range(20)} in shares.driver.inventory().exports.values()


def test_a_forced_delete_in_the_middle_of_a_create_leaves_nothing(shares: Shares) -> None:
    with held(shares.driver):
        share = new(shares).json["share"]["id"]
        eventually(lambda: shares.driver.calls["create_share"] > 0)
        shares.act(share, "force_delete", who="admin_a")
    assert shares.rest(f"/shares/{share}") == "gone"
    eventually(lambda: not shares.all_wrong())  # the create that was taken away comes back and tidies up


def test_a_scheduler_that_comes_back_too_late_places_nothing(tmp_path: Path) -> None:
    backends = {name: {"share_driver": "simulated"} for name in ("one", "other")}
    shares = Shares(tmp_path, backends, sections={"operations": {"lease": 0.4, "sweep_interval": 0.1}})
    service = shares.service
    share = new(shares).json["share"]["id"]  # while no backend is known, so that it is left to the scheduler
    service.start({service.part})
    with service.db.read() as tx:
        (instance,) = tx.query(ShareInstance).all()
    operation = Claims(service.journal, "a scheduler that stands still", [SCHEDULER]).claim(instance.operation_id or "")
    assert operation is not None
    for driver in shares.drivers():
        driver.dial("create_share", hang=True)
    service._start_scheduler()
    eventually(lambda: any(driver.calls["create_share"] for driver in shares.drivers()))
    view = PoolView(service.db, lambda tx: backend_states(tx, service.worker_binary, 60))
    placer = Placer(Scheduler([], []), view, binary=service.worker_binary, part=service.part, refusal=service.refusal)
    late = Run(service.journal, operation, placer)
    with pytest.raises(LeaseLost):
        schedule(late, instance, lambda tx: request_of(tx, late, instance))
    for driver in shares.drivers():
        driver.undial()
        driver.release()
    assert shares.rest(f"/shares/{share}") == "available"
    assert shares.all_wrong() == []
    service.stop()
