"""What a creation costs, and a deletion: statements, transactions, and processor time of all parts of a service.

    python benchmarks/creations.py [--database URL] [--rounds 20] [--statements]

API, scheduler and worker are in this process, without a web server, Keystone and a broker; the backend is
simulated. One after the other, and 30 at once; both services. Without --database on a SQLite file; URL is that of a
server's user who may make databases, such as mysql+pymysql://root@127.0.0.1/. --statements lists what one creation and
one deletion ask.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from lists import PROJECT, caller, database
from sqlalchemy import Engine, event

from pumice.block.volumes.model import Volume
from pumice.kernel import config
from pumice.kernel.db import migrations
from pumice.kernel.db.base import new_id
from pumice.kernel.db.engine import Database
from pumice.kernel.db.scope import everything
from pumice.share.shares.model import Share
from pumice.share.types.model import ShareType

PARALLEL = 30
PATIENCE = 60.0
MODELS: dict[str, Any] = {"block": Volume, "share": Share}
BODIES: dict[str, Any] = {
    "block": {"volume": {"size": 1, "volume_type": "__DEFAULT__"}},
    "share": {"share": {"size": 1, "share_proto": "NFS", "share_type": "default"}},
}
UNLIMITED = {
    "block": {"DEFAULT": {"quota_volumes": -1, "quota_gigabytes": -1}},
    "share": {"quota": {"shares": -1, "gigabytes": -1}},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default="")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--statements", action="store_true")
    arguments = parser.parse_args()
    for name in ("block", "share"):
        with tempfile.TemporaryDirectory() as directory, served(name, Path(directory), arguments.database) as rig:
            measure(rig, arguments.rounds, listing=arguments.statements)


class Rig:
    """A running service, and what it asks of its database."""

    def __init__(self, name: str, service: Any) -> None:
        self.name = name
        self.db: Database = service.db
        self.path = f"/v3/{PROJECT}/volumes" if name == "block" else "/v2/shares"
        self._call = caller(service, name)
        self.statements: list[str] = []
        self.commits = 0
        event.listen(Engine, "before_cursor_execute", self._note)
        event.listen(Engine, "commit", self._count)

    def close(self) -> None:
        event.remove(Engine, "before_cursor_execute", self._note)
        event.remove(Engine, "commit", self._count)

    def _note(self, _connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        self.statements.append(" ".join(statement.split()))

    def _count(self, _connection: Any) -> None:
        self.commits += 1

    def create(self) -> str:
        (made,) = json.loads(self._call(self.path, "POST", BODIES[self.name])).values()
        return str(made["id"])

    def delete(self, id: str) -> None:
        self._call(f"{self.path}/{id}", "DELETE")

    def rest(self, ids: list[str]) -> None:
        """Wait until all are available or gone, without asking what would be counted."""
        model = MODELS[self.name]
        moving = everything().columns(model, model.id).where(model.id.in_(ids), model.status != "available")
        end = time.monotonic() + PATIENCE
        while True:
            with self.db.read() as tx:
                if not tx.scalars(moving).all():
                    return
            if time.monotonic() > end:
                raise RuntimeError(f"waited {PATIENCE:.0f} s in vain")
            time.sleep(0.05)


def measure(rig: Rig, rounds: int, *, listing: bool) -> None:
    ids: list[str] = []

    def create() -> None:
        ids.append(rig.create())

    def delete() -> None:
        rig.delete(ids.pop())

    def at_once(work: Callable[[], None]) -> Callable[[], None]:
        def all_of_them() -> None:
            with ThreadPoolExecutor(PARALLEL) as threads:
                for one in [threads.submit(work) for _ in range(PARALLEL)]:
                    one.result()

        return all_of_them

    for _ in range(2):  # what is cached is not what is measured
        create()
        rig.rest(list(ids))
    for what, work, number in (
        ("create", create, 1),
        (f"create, {PARALLEL} at once", at_once(create), PARALLEL),
        ("delete", delete, 1),
        (f"delete, {PARALLEL} at once", at_once(delete), PARALLEL),
    ):
        times = rounds if number == 1 else max(1, rounds // 10)
        report(rig, what, work, ids, requests=(number, times))
        if listing and number == 1:
            print("\n".join(f"    {one[:150]}" for one in rig.statements))


def report(rig: Rig, what: str, work: Callable[[], None], ids: list[str], requests: tuple[int, int]) -> None:
    """The means of some times `work`, each of them some `requests`, and the least processor time of one of these times;
    the last one's statements stay in the rig."""
    number, rounds = requests
    statements, commits, seconds, used = 0, 0, 0.0, []
    for _ in range(rounds):
        known = list(ids)
        rig.statements, rig.commits = [], 0
        began, cpu = time.perf_counter(), time.process_time()
        work()
        rig.rest([*known, *ids])
        seconds += time.perf_counter() - began
        used.append(1000 * (time.process_time() - cpu) / number)
        # The looks of `rest` are not the service's.
        rig.statements = [one for one in rig.statements if "status !=" not in one]
        statements, commits = statements + len(rig.statements), commits + rig.commits
    all_of_them = number * rounds
    print(
        f"{rig.name:6} {what:20} {statements / all_of_them:6.1f} statements {commits / all_of_them:5.1f} commits"
        f" {min(used):6.2f} to {sum(used) / rounds:6.2f} ms of our processor time {all_of_them / seconds:5.0f} a second"
    )


@contextmanager
def served(name: str, directory: Path, server: str) -> Iterator[Rig]:
    block = name == "block"
    with database(server, directory, f"pumice_creations_{name}") as url:
        general = {
            "host": "here",
            "state_path": str(directory),
            "enabled_backends" if block else "enabled_share_backends": ["sim"],
            "report_interval": 30,
            **UNLIMITED[name].get("DEFAULT", {}),
        }
        overrides: dict[str, dict[str, Any]] = {
            **UNLIMITED[name],
            "DEFAULT": general,
            "database": {"connection": url},
            "coordination": {"backend_url": f"file://{directory}/locks"},
            "sim": {"volume_driver" if block else "share_driver": "simulated", "simulated_capacity_gb": 1_000_000},
        }
        db = Database(url)
        migrations.upgrade(db, name)
        if not block:
            specs = {"driver_handles_share_servers": "False", "snapshot_support": "True"}
            db.write(lambda tx: tx.add(ShareType(id=new_id(), name="default", extra_specs=specs)))
        db.close()
        service = import_module(f"pumice.{name}.service").SERVICE(config.load(name, (), overrides))
        rig = Rig(name, service)
        service.start()
        try:
            yield rig
        finally:
            service.stop()
            rig.close()


if __name__ == "__main__":
    main()
