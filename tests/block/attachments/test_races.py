"""Attachments under requests at the same moment, and under workers that die between two steps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from falcon.testing import Result
from sqlalchemy import select

from pumice.block.attachments import operations
from pumice.block.backends import VolumeBackend, queue_of
from pumice.kernel.operations.claims import Claims
from pumice.kernel.operations.model import LIVE, Lane, Operation, State
from pumice.kernel.operations.worker import Run, Worker
from tests.block.attachments.world import CONNECTOR, OTHER_CONNECTOR, OTHER_SERVER, SERVER, World, at_once
from tests.support.waiting import eventually


def codes(answers: list[Result]) -> list[int]:
    return sorted(answer.status_code for answer in answers)


def put(world: World, id: str, connector: Any = CONNECTOR) -> Callable[[], Result]:
    return lambda: world.send("PUT", f"/attachments/{id}", {"attachment": {"connector": connector}})


def live(world: World) -> list[Operation]:
    with world.service.db.read() as tx:
        return list(tx.scalars(select(Operation).where(Operation.state.in_(LIVE))))


class TestAtOnce:
    def test_one_of_many_creates_gets_a_plain_volume(self, world: World) -> None:
        volume = world.volume()
        body = {"attachment": {"volume_uuid": volume, "connector": CONNECTOR}}
        answers = at_once(*[lambda: world.send("POST", "/attachments", body)] * 8)
        assert codes(answers) == [200] + [400] * 7
        assert len(world.exports()) == 1
        assert world.all_wrong() == []

    def test_one_of_many_reserves(self, world: World) -> None:
        volume = world.volume()
        body = {"os-reserve": None}
        answers = at_once(*[lambda: world.send("POST", f"/volumes/{volume}/action", body)] * 8)
        assert codes(answers) == [202] + [400] * 7

    def test_servers_share_a_shared_volume(self, world: World) -> None:
        volume = world.shared()
        calls = [
            lambda n=n: world.send(
                "POST", "/attachments", {"attachment": {"volume_uuid": volume, "connector": {"host": f"compute{n}"}}}
            )
            for n in range(6)
        ]
        world.attached(volume)
        answers = at_once(*calls)
        assert {200} <= set(codes(answers)) <= {200, 400}
        rows = world.ok("GET", "/attachments")["attachments"]
        assert world.exports() == {row["id"] for row in rows}
        assert len(rows) == 1 + codes(answers).count(200)

    def test_updates_of_one_attachment(self, world: World) -> None:
        volume = world.volume()
        id = world.attachment(volume)["id"]
        world.driver.dial("connect", hang=True)
        with ThreadPoolExecutor(6) as threads:
            asked = [threads.submit(put(world, id)) for _ in range(6)]
            eventually(lambda: sum(one.done() for one in asked) == 5)
            world.driver.undial()
            world.driver.release()
        assert codes([one.result() for one in asked]) == [200] + [409] * 5
        assert world.state(id) == "attaching"

    def test_deletes_of_one_attachment_end_together(self, world: World) -> None:
        volume = world.volume()
        id = world.attached(volume)["id"]
        world.driver.dial("disconnect", latency=0.3)
        answers = at_once(*[lambda: world.send("DELETE", f"/attachments/{id}")] * 6)
        assert set(codes(answers)) <= {200, 404}
        assert 200 in codes(answers)
        assert world.driver.calls["disconnect"] == 1
        assert world.statuses(volume) == ("available", "detached")

    def test_deletes_of_two_attachments(self, world: World) -> None:
        volume = world.shared()
        ids = [world.attached(volume, c)["id"] for c in (CONNECTOR, OTHER_CONNECTOR)]
        answers = at_once(*[lambda id=id: world.send("DELETE", f"/attachments/{id}") for id in ids])
        assert codes(answers) == [200, 200]
        assert world.statuses(volume) == ("available", "detached")

    def test_a_delete_takes_an_attachment_from_its_update(self, world: World) -> None:
        volume = world.volume()
        id = world.attachment(volume)["id"]
        world.driver.dial("connect", hang=True, after=True)
        with ThreadPoolExecutor(2) as threads:
            update = threads.submit(put(world, id))
            eventually(lambda: world.driver.calls["connect"] == 1)
            delete = threads.submit(lambda: world.send("DELETE", f"/attachments/{id}"))
            eventually(lambda: operations.DISCONNECT.name in [one.kind for one in live(world)])
            world.driver.undial()
            world.driver.release()
            assert update.result().status_code == 409
            assert delete.result().status_code == 200
        assert world.exports() == frozenset()
        assert world.statuses(volume) == ("available", "detached")
        assert world.all_wrong() == []

    def test_exports_are_made_again_and_removed(self, world: World) -> None:
        volume = world.shared()
        stop = threading.Event()

        def restore() -> None:
            while not stop.is_set():
                world.service.restore_exports()

        with ThreadPoolExecutor(2) as threads:
            loops = [threads.submit(restore) for _ in range(2)]
            try:
                for _ in range(15):
                    id = world.attached(volume)["id"]
                    world.ok("DELETE", f"/attachments/{id}")
                    assert world.exports() == frozenset()
            finally:
                stop.set()
            for loop in loops:
                loop.result()
        assert world.exports() == frozenset()


class TestDeath:
    """The worker's own threads are stopped: an operation is claimed and run by hand, and nobody ends it."""

    def kill(self, world: World) -> None:
        for worker in world.service._workers:
            worker.stop()
        world.service._workers.clear()

    def revive(self, world: World) -> None:
        (backend,) = world.service.backends
        worker = self.worker(world, queue_of(backend.name), backend)
        worker.start()
        world.service._workers.append(worker)

    def worker(self, world: World, queue: str, backend: VolumeBackend) -> Worker:
        service = world.service
        return Worker(
            service.journal,
            {queue: backend},
            metrics=service.metrics,
            lanes={Lane.WORK: 1, Lane.FAST: 1},
            directory=service.state_path / "workers",
            lease=0.4,
            sweep=0.1,
        )

    def die(self, world: World, *, after: bool) -> None:
        """Claim the one operation that is there and, where `after`, make its storage calls; then be no more."""
        eventually(lambda: bool(live(world)))
        (waiting,) = live(world)
        operation = Claims(world.service.journal, "a worker that dies", [waiting.queue]).claim(waiting.id)
        assert operation is not None
        (backend,) = world.service.backends
        if after:
            run = Run(world.service.journal, operation, backend)
            world.service.journal.kinds[operation.kind].steps[operation.step](run)

    def survives(self, world: World, call: Callable[[], Result], *, after: bool) -> None:
        self.kill(world)
        with ThreadPoolExecutor(1) as threads:
            answer = threads.submit(call)
            self.die(world, after=after)
            assert not answer.done()
            self.revive(world)
            assert answer.result().status_code in (200, 202), answer.result().text

    def test_connects(self, world: World) -> None:
        for after in (False, True):
            volume = world.volume()
            id = world.attachment(volume)["id"]
            self.survives(world, put(world, id), after=after)
            assert id in world.exports()
            info = world.ok("GET", f"/attachments/{id}")["attachment"]["connection_info"]
            assert world.connect(id)["connection_info"] == info
            self.kill(world)
            world.service._start_scheduler()
            self.revive(world)
        assert world.all_wrong() == []

    def test_disconnects(self, world: World) -> None:
        ids = [world.attached(world.volume())["id"] for _ in range(2)]
        for id, after in zip(ids, (False, True), strict=True):
            self.survives(world, lambda id=id: world.send("DELETE", f"/attachments/{id}"), after=after)  # type: ignore[misc]
            assert id not in world.exports()
        assert world.all_wrong() == []

    def test_connections(self, world: World) -> None:
        volume = world.volume()
        path, body = f"/volumes/{volume}/action", {"connector": CONNECTOR}
        self.survives(world, lambda: world.send("POST", path, {"os-initialize_connection": body}), after=True)
        assert len(world.exports()) == 1
        self.survives(world, lambda: world.send("POST", path, {"os-terminate_connection": body}), after=True)
        assert world.exports() == frozenset()
        assert world.all_wrong() == []

    def test_a_backend_that_nobody_serves(self, world: World) -> None:
        volume = world.volume()
        id = world.attachment(volume)["id"]
        self.kill(world)
        with world.impatient():
            assert put(world, id)().status_code == 500
        assert world.state(id) == "error_attaching"
        (left,) = live(world)
        assert left.kind == operations.CLEAN_UP.name
        self.revive(world)
        eventually(lambda: not live(world))
        assert world.connect(id)["status"] == "attaching"

    def test_a_superseded_worker_that_was_slow_changes_nothing(self, world: World) -> None:
        """It looks at the attachment's row under the lock, and finds that it is not its own any more."""
        volume = world.volume()
        id = world.attachment(volume)["id"]
        self.kill(world)
        with ThreadPoolExecutor(2) as threads:
            update = threads.submit(put(world, id))
            eventually(lambda: bool(live(world)))
            (waiting,) = live(world)
            slow = Claims(world.service.journal, "a slow worker", [waiting.queue]).claim(waiting.id)
            assert slow is not None
            delete = threads.submit(lambda: world.send("DELETE", f"/attachments/{id}"))
            eventually(lambda: [one.kind for one in live(world)] == [operations.DISCONNECT.name])
            (backend,) = world.service.backends
            self.worker(world, slow.queue, backend).run(slow)
            self.revive(world)
            assert delete.result().status_code == 200
            assert update.result().status_code == 409
        assert world.driver.calls["connect"] == 0
        with world.service.db.read() as tx:
            assert tx.get_one(Operation, slow.id).state == State.CANCELLED


def test_two_servers_and_one_plain_volume(world: World) -> None:
    volume = world.volume()
    calls = [
        lambda server=server: world.send(
            "POST", "/attachments", {"attachment": {"volume_uuid": volume, "instance_uuid": server}}
        )
        for server in (SERVER, OTHER_SERVER)
    ]
    assert codes(at_once(*calls)) == [200, 400]
