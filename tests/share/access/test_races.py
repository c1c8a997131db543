"""Requests about one share at the same moment: the right ones win, and nothing is left between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from falcon.testing import Result

from tests.share.access.conftest import World
from tests.support.atonce import at_once
from tests.support.waiting import eventually


def together(*calls: Callable[[], Result]) -> list[int]:
    return [answer.status_code for answer in at_once(len(calls), lambda n: calls[n]())]


def test_ten_rules_for_one_client(world: World) -> None:
    share = world.share()
    body = {"allow_access": {"access_type": "ip", "access_to": "10.0.0.1"}}
    codes = together(*[lambda: world.call("POST", f"/shares/{share}/action", body)] * 10)
    assert Counter(codes) == {200: 1, 400: 9}
    assert world.settled(share) == {"10.0.0.1": "active"}


def test_a_rule_is_hidden_once(world: World) -> None:
    share = world.share()
    rule = world.allow(share, "10.0.0.1")["id"]
    lock = {"resource_id": rule, "resource_type": "access_rule", "resource_action": "show"}
    codes = together(*[lambda: world.call("POST", "/resource-locks", {"resource_lock": lock})] * 8)
    assert Counter(codes) == {200: 1, 409: 7}
    world.settled(share)


@pytest.mark.parametrize("_round", range(3))
def test_a_lock_against_a_deletion(world: World, _round: int) -> None:
    share = world.share()
    lock = {"resource_lock": {"resource_id": share, "resource_type": "share"}}
    locked, deleted = together(
        lambda: world.call("POST", "/resource-locks", lock), lambda: world.call("DELETE", f"/shares/{share}")
    )
    assert (locked, deleted) in {(200, 403), (409, 202), (400, 202)}
    if deleted == 202:
        assert world.rest(f"/shares/{share}") == "gone"
        assert world.ok("GET", f"/resource-locks?resource_id={share}")["resource_locks"] == []


def test_rules_against_a_deletion(world: World) -> None:
    share = world.share()
    calls: list[Callable[[], Result]] = [
        lambda n=n: world.call(  # type: ignore[misc]
            "POST", f"/shares/{share}/action", {"allow_access": {"access_type": "ip", "access_to": f"10.0.0.{n}"}}
        )
        for n in range(8)
    ]
    codes = together(*calls[:4], lambda: world.call("DELETE", f"/shares/{share}"), *calls[4:])
    assert codes[4] == 202
    assert set(codes) <= {200, 202, 400, 404}
    assert world.rest(f"/shares/{share}") == "gone"
    eventually(lambda: world.all_wrong() == [])


def test_an_offer_is_accepted_once(world: World) -> None:
    share = world.share()
    made = world.ok("POST", "/share-transfers", {"transfer": {"share_id": share}}, status=202)["transfer"]
    path, body = f"/share-transfers/{made['id']}/accept", {"accept": {"auth_key": made["auth_key"]}}
    people = ("member_b", "admin", "member_b", "admin")
    codes = together(*[lambda who=who: world.call("POST", path, body, who=who) for who in people])
    assert Counter(codes) == {202: 1, 400: 3}
    assert world.all_wrong() == []


def test_a_withdrawal_against_an_acceptance(world: World) -> None:
    share = world.share()
    made = world.ok("POST", "/share-transfers", {"transfer": {"share_id": share}}, status=202)["transfer"]
    path = f"/share-transfers/{made['id']}"
    body = {"accept": {"auth_key": made["auth_key"]}}
    withdrawn, accepted = together(
        lambda: world.call("DELETE", path), lambda: world.call("POST", f"{path}/accept", body, who="member_b")
    )
    assert (withdrawn, accepted) in {(200, 400), (400, 202), (404, 202)}
    assert world.ok("GET", f"/shares/{share}", who="admin")["share"]["status"] == "available"
    assert world.all_wrong() == []
