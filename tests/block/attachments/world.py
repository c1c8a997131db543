"""A running service with simulated storage, and a few words about attachments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from falcon.testing import Result
from sqlalchemy import select, update

from pumice.block.attachments.model import Attachment, Connection
from pumice.block.volumes.model import Volume
from pumice.kernel.messages import Message
from tests.support.blockservice import Block
from tests.support.identity import PEOPLE

SERVER = "5e5e5e5e-0000-4000-8000-000000000001"
OTHER_SERVER = "5e5e5e5e-0000-4000-8000-000000000002"
CONNECTOR = {"host": "compute1", "ip": "10.0.0.1", "initiator": "iqn.2026-11.example:compute1"}
OTHER_CONNECTOR = {"host": "compute2", "ip": "10.0.0.2", "initiator": "iqn.2026-11.example:compute2"}


class World(Block):
    def send(self, method: str, path: str, body: Any = None, *, who: str = "member_a", version: str = "3.71") -> Result:
        """A request below the caller's project, at any version."""
        return self.call(method, f"/{PEOPLE[who].project_id}{path}", body, who=who, version=version)

    def ok(self, method: str, path: str, body: Any = None, *, status: int = 200, **more: Any) -> Any:
        answer = self.send(method, path, body, **more)
        assert answer.status_code == status, answer.text
        return answer.json if answer.content else None

    def refused(self, status: int, method: str, path: str, body: Any = None, **more: Any) -> str:
        answer = self.send(method, path, body, **more)
        assert answer.status_code == status, answer.text
        ((_, fault),) = answer.json.items()
        return str(fault["message"])

    # Attachments

    def attachment(self, volume: str, *, who: str = "member_a", version: str = "3.71", **values: Any) -> dict[str, Any]:
        body = {"attachment": {"volume_uuid": volume, **values}}
        made: dict[str, Any] = self.ok("POST", "/attachments", body, who=who, version=version)["attachment"]
        return made

    def connect(self, id: str, connector: Any = CONNECTOR, **more: Any) -> dict[str, Any]:
        body = {"attachment": {"connector": connector}}
        made: dict[str, Any] = self.ok("PUT", f"/attachments/{id}", body, **more)["attachment"]
        return made

    def complete(self, id: str) -> None:
        self.ok("POST", f"/attachments/{id}/action", {"os-complete": id}, status=204)

    def attached(self, volume: str, connector: Any = CONNECTOR, **values: Any) -> dict[str, Any]:
        made = self.attachment(volume, connector=connector, **values)
        self.complete(made["id"])
        return made

    def action(self, volume: str, name: str, value: Any = None, *, status: int = 202, **more: Any) -> Any:
        return self.ok("POST", f"/volumes/{volume}/action", {name: value}, status=status, **more)

    def no_action(self, code: int, volume: str, name: str, value: Any = None, **more: Any) -> str:
        return self.refused(code, "POST", f"/volumes/{volume}/action", {name: value}, **more)

    # What is

    def statuses(self, volume: str) -> tuple[str, str]:
        with self.service.db.read() as tx:
            row = tx.get_one(Volume, volume)
            return row.status, row.attach_status

    def state(self, id: str) -> str | None:
        """An attachment's status; None when it is gone."""
        with self.service.db.read() as tx:
            return tx.scalar(select(Attachment.status).where(Attachment.id == id))

    def exports(self) -> frozenset[str]:
        return self.driver.inventory().exports

    def connections(self, volume: str) -> list[Connection]:
        with self.service.db.read() as tx:
            return list(tx.scalars(select(Connection).where(Connection.volume_id == volume)))

    def messages(self, volume: str) -> list[str]:
        with self.service.db.read() as tx:
            return list(tx.scalars(select(Message.event_id).where(Message.resource_uuid == volume)))

    def set(self, volume: str, **values: Any) -> None:
        self.service.db.write(lambda tx: tx.execute(update(Volume).where(Volume.id == volume).values(values)) and None)

    def shared(self, **values: Any) -> str:
        """A new volume that may be attached several times."""
        id = self.volume()
        self.set(id, multiattach=True, **values)
        return id

    @contextmanager
    def impatient(self) -> Iterator[None]:
        """Who asks for a connection meanwhile waits no longer than a second."""
        usual = self.conf.rpc_response_timeout
        self.conf.set_override("rpc_response_timeout", 1)
        yield
        self.conf.set_override("rpc_response_timeout", usual)


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """What calls answer that are made at the same moment."""
    with ThreadPoolExecutor(len(calls)) as threads:
        return [one.result() for one in [threads.submit(call) for call in calls]]
