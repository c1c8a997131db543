"""Writers on all nodes of a Galera cluster: conflicts are found when a transaction is certified, at its COMMIT."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from falcon.testing import Result
from sqlalchemy import make_url

from pumice.block.service import BlockService
from tests.support.atonce import at_once, codes
from tests.support.blockservice import Block
from tests.support.servers.galera import Galera

pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.fixture(scope="module")
def galera() -> Iterator[Galera]:
    with Galera() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def block(tmp_path_factory: pytest.TempPathFactory, galera: Galera) -> Iterator[Block]:
    galera.nodes[0].query("CREATE DATABASE pumice CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
    url = make_url(galera.url).set(database="pumice")
    sections = {"database": {"connection": url.render_as_string(hide_password=False)}}
    with Block(tmp_path_factory.mktemp("galera"), sections=sections, quota_volumes=-1, quota_gigabytes=-1) as block:
        second = BlockService(block.conf)
        second.start({"scheduler"})
        yield block
        second.stop()


def test_of_creates_with_one_key_on_all_nodes_one_is_done(block: Block) -> None:
    for key in ("k1", "k2", "k3"):
        answers = at_once(12, lambda _: create(block, 0, key=key))  # noqa: B023 - all are answered here
        # Who asks at a node that does not have the answer yet is told to try again.
        assert set(codes(answers)) <= {202, 409}, [answer.text for answer in answers]
        (volume,) = {id_of(answer) for answer in answers if answer.status_code == 202}
        assert ends(block, [volume]) == {"available": 1}
        assert id_of(create(block, 0, key=key)) == volume
    assert len(block.call("GET", "/volumes").json["volumes"]) == 3
    assert block.all_wrong() == []


def test_conflicts_are_not_shown_and_a_killed_node_loses_nothing(block: Block, galera: Galera) -> None:
    volumes = [id_of(answer) for answer in at_once(30, lambda n: create(block, n))]
    assert ends(block, volumes) == {"available": 30}
    assert conflicts(galera) > 0

    def ask(n: int) -> Result:
        # Some come before the kill, some while the other nodes find out, some after that.
        time.sleep(n / 10)
        match n % 3:
            case 0:
                return create(block, n)
            case 1:
                return block.call("POST", f"/volumes/{volumes[n]}/action", {"os-extend": {"new_size": 2}})
            case _:
                return block.call("DELETE", f"/volumes/{volumes[n]}")

    killer = threading.Timer(1, galera.nodes[2].kill)
    killer.start()
    answers = at_once(30, ask)
    killer.join()
    assert codes(answers) == {202: 30}
    assert ends(block, [id_of(answer) for answer in answers[0::3]]) == {"available": 10}
    assert ends(block, volumes[1::3]) == {"available": 10}
    assert ends(block, volumes[2::3]) == {"gone": 10}
    galera.nodes[2].start()
    assert ends(block, [id_of(answer) for answer in at_once(9, lambda n: create(block, n))]) == {"available": 9}
    assert block.all_wrong() == []


def create(block: Block, number: int, *, key: str | None = None) -> Result:
    return block.call("POST", "/volumes", {"volume": {"size": 1, "name": f"v{number}"}}, key=key)


def id_of(answer: Result) -> str:
    assert answer.status_code == 202, answer.text
    return str(answer.json["volume"]["id"])


def ends(block: Block, ids: list[str]) -> Counter[str]:
    return Counter(block.rest(f"/volumes/{id}", seconds=60) for id in ids)


def conflicts(galera: Galera) -> int:
    names = ("wsrep_local_cert_failures", "wsrep_local_bf_aborts")
    return sum(int(node.status(name)) for node in galera.nodes for name in names)
