"""The rules of a share are a set: applied as one, each with its own result, none left on the way."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pumice.share.access import operations
from tests.share.access.conftest import World
from tests.support.waiting import eventually


def test_a_rule_comes_and_goes(world: World) -> None:
    share = world.share()
    rule = world.allow(share, "10.0.0.1")
    assert rule["state"] == "queued_to_apply"
    assert world.rule_rests(rule["id"]) == "active"
    assert world.enforced() == {"ip 10.0.0.1 rw"}
    assert world.status(share) == "active"
    world.deny(share, rule["id"])
    assert world.rule_rests(rule["id"]) == "gone"
    assert world.enforced() == set()
    assert world.status(share) == "active"
    assert world.all_wrong() == []


def test_the_operation_is_named_and_over_when_the_rule_is_in_force(world: World) -> None:
    share = world.share()
    body = {"allow_access": {"access_type": "ip", "access_to": "10.0.0.1"}}
    answer = world.call("POST", f"/shares/{share}/action", body)
    path = f"/operations/{answer.headers['x-operation-id']}"
    eventually(lambda: world.ok("GET", path)["operation"]["state"] == "succeeded")
    assert world.settled(share) == {"10.0.0.1": "active"}


def test_one_bad_rule_fails_alone_and_can_be_denied(world: World) -> None:
    share = world.share()
    world.driver.dial("access_rule", match="10.0.0.9", fail="no such client")
    for last in (1, 9, 2):
        world.allow(share, f"10.0.0.{last}")
    assert world.settled(share) == {"10.0.0.1": "active", "10.0.0.9": "error", "10.0.0.2": "active"}
    assert world.status(share) == "error"
    world.allow(share, "10.0.0.3")
    assert world.settled(share)["10.0.0.3"] == "active"
    assert world.told(share) == [("SHARE", "010", "021")]
    (bad,) = (rule["id"] for rule in world.rules(share) if rule["access_to"] == "10.0.0.9")
    world.deny(share, bad)
    assert world.rule_rests(bad) == "gone"
    assert world.status(share) == "active"
    assert world.enforced() == {"ip 10.0.0.1 rw", "ip 10.0.0.2 rw", "ip 10.0.0.3 rw"}


def test_a_type_that_the_backend_does_not_know_is_an_error_of_that_rule(world: World) -> None:
    share = world.share()
    user = world.allow(share, "alice", kind="user")
    assert world.rule_rests(user["id"]) == "error"
    world.allow(share, "10.0.0.1")
    assert world.settled(share) == {"alice": "error", "10.0.0.1": "active"}


def test_twenty_concurrent_allows_all_arrive(world: World) -> None:
    share = world.share()
    world.driver.dial("apply_access", latency=0.2)
    before = world.driver.calls["apply_access"]
    with ThreadPoolExecutor(20) as pool:
        rules = list(pool.map(lambda n: world.allow(share, f"10.0.0.{n}"), range(20)))
    assert {rule["access_to"] for rule in rules} == {f"10.0.0.{n}" for n in range(20)}
    assert set(world.settled(share).values()) == {"active"}
    assert world.enforced() == {f"ip 10.0.0.{n} rw" for n in range(20)}
    assert world.driver.calls["apply_access"] - before <= 20


def test_allows_and_denies_at_once_end_in_what_was_asked_for(world: World) -> None:
    share = world.share()
    world.driver.dial("apply_access", latency=0.1)

    def come_and_go(n: int) -> None:
        rule = world.allow(share, f"10.0.0.{n}")
        if n % 2:
            world.deny(share, rule["id"])

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(come_and_go, range(12)))
    assert world.settled(share) == {f"10.0.0.{n}": "active" for n in range(0, 12, 2)}
    assert world.enforced() == {f"ip 10.0.0.{n} rw" for n in range(0, 12, 2)}


def test_a_rule_denied_while_it_is_applied_goes(world: World) -> None:
    share = world.share()
    hangs = world.hang("apply_access")
    rule = world.allow(share, "10.0.0.1")
    hangs()
    assert world.rules(share)[0]["state"] == "applying"
    assert world.status(share) == "syncing"
    world.deny(share, rule["id"])
    assert world.rules(share)[0]["state"] == "queued_to_deny"
    world.driver.release()
    assert world.settled(share) == {}
    assert world.enforced() == set()


def test_changes_that_wait_together_are_applied_together(world: World) -> None:
    share = world.share()
    hangs = world.hang("apply_access")
    world.allow(share, "10.0.0.0")
    hangs()
    for n in range(1, 10):
        world.allow(share, f"10.0.0.{n}")
    world.driver.release()
    assert len(world.settled(share)) == 10
    # An operation that has its turn before the one before it is recorded looks again.
    assert world.driver.calls["apply_access"] <= 5


def test_a_backend_that_fails_leaves_errors_and_catches_up(world: World) -> None:
    share = world.share()
    kept = world.allow(share, "10.0.0.1")
    assert world.rule_rests(kept["id"]) == "active"
    world.driver.dial("apply_access", fail="the server is away")
    more = world.allow(share, "10.0.0.2")
    assert world.rule_rests(more["id"]) == "error"
    assert world.status(share) == "error"
    world.deny(share, kept["id"])
    assert world.rule_rests(kept["id"]) == "error"
    world.driver.undial()
    # What is denied never comes back, whatever came between.
    assert world.rule_rests(kept["id"]) in {"error", "gone"}
    eventually(lambda: world.settled(share) == {"10.0.0.2": "active"})
    assert world.enforced() == {"ip 10.0.0.2 rw"}
    assert world.status(share) == "active"


def test_no_rule_waits_for_ever_for_a_backend_that_hangs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    share = world.share()
    _bound(world, monkeypatch, 1.0)
    world.driver.dial("apply_access", hang=True)
    rules = [world.allow(share, f"10.0.0.{n}") for n in range(3)]
    for rule in rules:
        assert world.rule_rests(rule["id"]) == "error"
    world.driver.undial()
    world.driver.release()
    eventually(lambda: set(world.settled(share).values()) == {"active"})


def test_no_rule_waits_for_ever_for_a_worker_that_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with World(tmp_path) as world:
        share = world.share()
    world = World(tmp_path)
    _bound(world, monkeypatch, 0.5)
    world.service.start({"scheduler"})
    try:
        rule = world.allow(share, "10.0.0.1")
        assert world.rule_rests(rule["id"]) == "error"
    finally:
        world.service.stop()


def _bound(world: World, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    short = {kind.name: replace(kind, seconds=seconds) for kind in operations.KINDS}
    monkeypatch.setattr(world.service.journal, "kinds", {**world.service.journal.kinds, **short})
    monkeypatch.setattr(operations, "OF_SHARE", short[operations.OF_SHARE.name])


def test_a_worker_that_goes_in_the_middle_is_followed_by_another(tmp_path: Path) -> None:
    backends = {"sim": {"share_driver": "simulated", "simulated_directory": str(tmp_path / "backend")}}
    world = World(tmp_path, backends)
    world.service.start()
    share = world.share()
    world.driver.dial("apply_access", hang=True)
    rule = world.allow(share, "10.0.0.1")
    eventually(lambda: world.rules(share)[0]["state"] == "applying")
    world.service.stop(grace=0)
    with World(tmp_path, backends) as world:
        assert world.rule_rests(rule["id"]) == "active"
        assert world.enforced() == {"ip 10.0.0.1 rw"}
        assert world.all_wrong() == []


def test_rules_that_the_server_forgot_are_made_again(world: World) -> None:
    share = world.share()
    world.allow(share, "10.0.0.1")
    world.settled(share)
    (instance,) = world.driver.inventory().exports
    world.driver.forget_export(instance)
    eventually(lambda: world.enforced() == {"ip 10.0.0.1 rw"})


def test_a_level_is_changed(world: World) -> None:
    share = world.share()
    rule = world.allow(share, "10.0.0.1")
    world.settled(share)
    path = f"/share-access-rules/{rule['id']}"
    answer = world.ok("PUT", path, {"update_access": {"access_level": "ro"}})["access"]
    assert (answer["access_level"], answer["state"]) == ("ro", "queued_to_update")
    assert world.rule_rests(rule["id"]) == "active"
    assert world.enforced() == {"ip 10.0.0.1 ro"}
    before = world.driver.calls["apply_access"]
    same = world.ok("PUT", path, {"update_access": {"access_level": "ro"}})["access"]
    assert same["state"] == "active"
    assert world.driver.calls["apply_access"] == before


def test_rules_go_with_their_share(world: World) -> None:
    share = world.share()
    rule = world.allow(share, "10.0.0.1", lock_visibility=True)
    world.settled(share)
    world.ok("DELETE", f"/shares/{share}", status=202)
    assert world.rest(f"/shares/{share}") == "gone"
    assert world.call("GET", f"/share-access-rules/{rule['id']}").status_code == 404
    assert world.ok("GET", "/resource-locks?all_projects=1", who="admin")["resource_locks"] == []
    assert world.all_wrong() == []
