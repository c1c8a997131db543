"""Whatever is asked at once, and whatever the backend refuses: in the end rows, statuses and exports agree."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from falcon.testing import Result
from sqlalchemy import select

from pumice.block.attachments.derive import derive
from pumice.block.attachments.model import Attachment
from pumice.kernel.operations.model import LIVE, Operation
from tests.block.attachments.world import World
from tests.support.waiting import eventually

SECONDS = 3.0
THREADS = 6


class Storm:
    """Random requests about some volumes, most of them allowed."""

    def __init__(self, world: World, volumes: list[str], seed: int) -> None:
        self.world = world
        self.volumes = volumes
        self.random = random.Random(seed)
        self.choices: dict[Callable[[str], Any], int] = {
            self.create: 6,
            self.on_one("PUT", lambda: {"attachment": {"connector": self.connector()}}): 4,
            self.on_one("POST", lambda: {"os-complete": {}}, "/action"): 3,
            self.on_one("DELETE", lambda: None): 6,
            self.action("os-initialize_connection", lambda: {"connector": self.connector()}): 2,
            self.action("os-terminate_connection", lambda: {"connector": None}, "member_a_via_service"): 1,
            self.action("os-extend", lambda: {"new_size": self.random.randrange(2, 100)}): 1,
            self.action("os-reset_status", lambda: {"status": "available", "attach_status": "detached"}, "admin_a"): 1,
            self.fault: 1,
            self.restore: 1,
        }

    def rage(self) -> set[int]:
        """The status codes of all answers."""
        codes, end = set(), time.monotonic() + SECONDS
        while time.monotonic() < end:
            (act,) = self.random.choices(list(self.choices), list(self.choices.values()))
            answer = act(self.random.choice(self.volumes))
            if isinstance(answer, Result):
                codes.add(answer.status_code)
        return codes

    def connector(self) -> dict[str, str]:
        host = f"compute{self.random.randrange(3)}"
        return {"host": host, "initiator": f"iqn.2026-11.example:{host}"}

    def create(self, volume: str) -> Result:
        connector = self.connector() if self.random.random() < 0.5 else None
        return self.world.send("POST", "/attachments", {"attachment": {"volume_uuid": volume, "connector": connector}})

    def on_one(self, method: str, body: Callable[[], Any], more: str = "") -> Callable[[str], Any]:
        def act(volume: str) -> Result | None:
            rows = self.world.ok("GET", f"/attachments?volume_id={volume}")["attachments"]
            if not rows:
                return None
            return self.world.send(method, f"/attachments/{self.random.choice(rows)['id']}{more}", body())

        return act

    def action(self, name: str, value: Callable[[], Any], who: str = "member_a") -> Callable[[str], Any]:
        return lambda volume: self.world.send("POST", f"/volumes/{volume}/action", {name: value()}, who=who)

    def fault(self, _volume: str) -> None:
        call = self.random.choice(["connect", "disconnect"])
        self.world.driver.dial(call, fail="refused", fail_times=1, after=self.random.random() < 0.5)

    def restore(self, _volume: str) -> None:
        self.world.service.restore_exports()


@pytest.mark.parametrize("seed", [1, 2])
def test_all_agree_after_a_storm(world: World, seed: int) -> None:
    volumes = [world.volume(), world.shared(), world.shared()]
    storms = [Storm(world, volumes, seed * 100 + n) for n in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as threads:
        codes = set().union(*threads.map(Storm.rage, storms))
    assert codes <= {200, 202, 204, 400, 404, 409, 500}
    world.driver.undial()

    def quiet() -> bool:
        with world.service.db.read() as tx:
            return tx.scalars(select(Operation.id).where(Operation.state.in_(LIVE)).limit(1)).first() is None

    eventually(quiet, 60)
    for volume in volumes:
        before = world.statuses(volume)
        if not before[0].startswith("error"):
            world.service.db.write(partial(derive, volume_id=volume))
            assert world.statuses(volume) == before
    with world.service.db.read() as tx:
        left = list(tx.scalars(select(Attachment.id)))
    for id in left:
        world.ok("DELETE", f"/attachments/{id}")
    for volume in volumes:
        world.action(volume, "os-terminate_connection", {"connector": None})
        assert world.statuses(volume) == ("available", "detached")
    assert world.exports() == frozenset()
    assert world.all_wrong() == []
