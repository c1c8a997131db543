"""Many requests at the same moment: exactly the right ones win, and the others get a clean answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from falcon.testing import Result

from pumice.block.service import BlockService
from tests.support.atonce import at_once, codes, held, made_once, winner
from tests.support.blockservice import Block
from tests.support.waiting import eventually


@pytest.fixture
def block(tmp_path: Path) -> Iterator[Block]:
    with Block(tmp_path, quota_volumes=-1, quota_gigabytes=-1) as made:
        yield made
        assert made.all_wrong() == []


def test_fifty_creates_against_a_quota_of_ten(tmp_path: Path) -> None:
    with Block(tmp_path, quota_volumes=10) as block:
        answers = at_once(50, lambda n: block.call("POST", "/volumes", {"volume": {"size": 1, "name": f"v{n}"}}))
        assert codes(answers) == {202: 10, 413: 40}
        for answer in answers:
            if answer.status_code == 202:
                assert block.rest(f"/volumes/{answer.json['volume']['id']}") == "available"
        assert block.all_wrong() == []
        assert block.call("GET", "/limits").json["limits"]["absolute"]["totalVolumesUsed"] == 10


def test_of_creates_with_one_key_one_is_done_and_all_are_told_of_it(tmp_path: Path) -> None:
    with Block(tmp_path, quota_volumes=1, quota_snapshots=1) as block:
        volume = made_once(lambda: block.call("POST", "/volumes", {"volume": {"size": 1}}, key="v"), 202)
        assert block.rest(f"/volumes/{volume}") == "available"
        wanted = {"snapshot": {"volume_id": volume}}
        snapshot = made_once(lambda: block.call("POST", "/snapshots", wanted, key="s"), 202)
        assert block.rest(f"/snapshots/{snapshot}") == "available"
        limits = block.call("GET", "/limits").json["limits"]["absolute"]
        assert (limits["totalVolumesUsed"], limits["totalSnapshotsUsed"]) == (1, 1)
        assert block.all_wrong() == []


def test_what_a_pool_has_room_for_needs_no_scheduler(tmp_path: Path) -> None:
    block = Block(tmp_path, {"sim": {"volume_driver": "simulated", "simulated_capacity_gb": 3}})
    block.service.start({block.service.part})
    try:
        made = {name: block.call("POST", "/volumes", {"volume": {"size": 2, "name": name}}) for name in ("a", "b")}
        ids = {name: answer.json["volume"]["id"] for name, answer in made.items()}
        assert block.rest(f"/volumes/{ids['a']}") == "available"
        block.service._start_scheduler()
        assert block.rest(f"/volumes/{ids['b']}") == "error"
        assert block.all_wrong() == []
    finally:
        block.service.stop()


def test_two_schedulers_fill_a_pool_to_the_last_gib_and_not_further(tmp_path: Path) -> None:
    backends = {"sim": {"volume_driver": "simulated", "simulated_capacity_gb": 20, "simulated_latency": 0.05}}
    with Block(tmp_path, backends, quota_volumes=-1) as block:
        second = BlockService(block.conf)
        second.start({"scheduler"})
        try:
            answers = at_once(40, lambda n: block.call("POST", "/volumes", {"volume": {"size": 1, "name": f"v{n}"}}))
            assert codes(answers) == {202: 40}
            ids = [answer.json["volume"]["id"] for answer in answers]
            ends = Counter(block.rest(f"/volumes/{id}", seconds=90) for id in ids)
        finally:
            second.stop()
        assert ends == {"available": 20, "error": 20}
        assert block.all_wrong() == []


def test_of_parallel_extends_one_wins(block: Block) -> None:
    volume = block.volume()
    with held(block.driver):
        answers = at_once(
            12, lambda n: block.call("POST", f"/volumes/{volume}/action", {"os-extend": {"new_size": 2 + n}})
        )
    wanted = 2 + winner(answers, 202)
    assert block.rest(f"/volumes/{volume}") == "available"
    assert block.call("GET", f"/volumes/{volume}").json["volume"]["size"] == wanted


def test_of_parallel_deletes_one_wins(block: Block) -> None:
    volume = block.volume()
    with held(block.driver):
        winner(at_once(12, lambda _: block.call("DELETE", f"/volumes/{volume}")), 202)
    assert block.rest(f"/volumes/{volume}") == "gone"


def test_a_delete_and_an_extend_exclude_each_other(block: Block) -> None:
    volume = block.volume()

    def ask(n: int) -> Result:
        if n % 2:
            return block.call("DELETE", f"/volumes/{volume}")
        return block.call("POST", f"/volumes/{volume}/action", {"os-extend": {"new_size": 5}})

    with held(block.driver):
        winner(at_once(12, ask), 202)
    assert block.rest(f"/volumes/{volume}") in ("gone", "available")


def attach(block: Block, volume: str) -> Result:
    return block.call("POST", "/attachments", {"attachment": {"volume_uuid": volume}})


def test_of_parallel_attachments_of_a_plain_volume_one_wins(block: Block) -> None:
    volume = block.volume()
    answers = at_once(12, lambda _: attach(block, volume))
    made = answers[winner(answers, 200)].json["attachment"]["id"]
    assert block.call("DELETE", f"/attachments/{made}").status_code == 200
    assert block.rest(f"/volumes/{volume}") == "available"


def test_a_delete_and_an_attach_exclude_each_other(block: Block) -> None:
    volume = block.volume()
    with held(block.driver):
        answers = at_once(12, lambda n: block.call("DELETE", f"/volumes/{volume}") if n % 2 else attach(block, volume))
    winner(answers, 200, 202)
    assert block.rest(f"/volumes/{volume}") in ("gone", "reserved")


def test_snapshots_and_a_delete_of_their_volume(block: Block) -> None:
    volume = block.volume()

    def ask(n: int) -> Result:
        body: Any = {"snapshot": {"volume_id": volume}}
        return block.call("DELETE", f"/volumes/{volume}") if n == 5 else block.call("POST", "/snapshots", body)

    with held(block.driver):
        answers = at_once(10, ask)
    assert set(codes(answers)) <= {202, 400, 404, 413}
    deleted = answers[5].status_code == 202
    assert deleted != any(answer.status_code == 202 for n, answer in enumerate(answers) if n != 5)
    for answer in answers:
        if answer.status_code == 202 and answer is not answers[5]:
            assert block.rest(f"/snapshots/{answer.json['snapshot']['id']}") == "available"
    assert block.rest(f"/volumes/{volume}") == ("gone" if deleted else "available")


def test_a_source_stays_while_it_is_copied(block: Block) -> None:
    source = block.volume()
    with held(block.driver):
        copy = block.call("POST", "/volumes", {"volume": {"source_volid": source}}).json["volume"]["id"]
        refused = block.call("DELETE", f"/volumes/{source}")
    assert refused.status_code == 400
    assert "being read" in refused.text
    assert block.rest(f"/volumes/{copy}") == "available"
    assert block.call("DELETE", f"/volumes/{source}").status_code == 202
    assert block.rest(f"/volumes/{source}") == "gone"


def test_a_forced_delete_in_the_middle_of_a_create_leaves_nothing(block: Block) -> None:
    with held(block.driver):
        id = block.call("POST", "/volumes", {"volume": {"size": 1}}).json["volume"]["id"]
        eventually(lambda: block.driver.calls["create_volume"] > 0)
        forced = block.call("POST", f"/volumes/{id}/action", {"os-force_delete": {}}, who="admin_a")
        assert forced.status_code == 202
    assert block.rest(f"/volumes/{id}") == "gone"
    eventually(lambda: not block.all_wrong())  # the create that was taken away comes back and tidies up
