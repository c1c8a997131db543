from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pumice.kernel.db.scope import everything
from pumice.kernel.messages import Message
from tests.support.shareservice import MOVING, Shares
from tests.support.waiting import LONG, eventually


class World(Shares):
    """A share service, and words about access rules."""

    def allow(self, share: str, to: str, *, kind: str = "ip", who: str = "member_a", **more: Any) -> dict[str, Any]:
        body = {"allow_access": {"access_type": kind, "access_to": to, **more}}
        found: dict[str, Any] = self.ok("POST", f"/shares/{share}/action", body, who=who)["access"]
        return found

    def not_allowed(self, status: int, share: str, to: str, *, kind: str = "ip", **more: Any) -> str:
        call = {name: more.pop(name) for name in ("who", "version") if name in more}
        body = {"allow_access": {"access_type": kind, "access_to": to, **more}}
        return self.refused(status, "POST", f"/shares/{share}/action", body, **call)

    def deny(self, share: str, rule: str, *, status: int = 202, who: str = "member_a", **more: Any) -> Any:
        return self.act(share, "deny_access", {"access_id": rule, **more}, status=status, who=who)

    def rules(self, share: str, *, who: str = "member_a", query: str = "") -> list[dict[str, Any]]:
        path = f"/share-access-rules?share_id={share}{query}"
        found: list[dict[str, Any]] = self.ok("GET", path, who=who)["access_list"]
        return found

    def settled(self, share: str) -> dict[str, str]:
        """What each rule of a share is for, and the state in which it rests."""

        def look() -> dict[str, str] | None:
            found = self.rules(share, who="admin_a")
            rests = not any(rule["state"] in MOVING for rule in found)
            return {rule["access_to"]: rule["state"] for rule in found} or {"": ""} if rests else None

        found: dict[str, str] = eventually(look)
        return {} if found == {"": ""} else found

    def rule_rests(self, rule: str, seconds: float = LONG) -> str:
        return self.rest(f"/share-access-rules/{rule}", key="state", seconds=seconds)

    def status(self, share: str) -> str:
        found: str = self.ok("GET", f"/shares/{share}")["share"]["access_rules_status"]
        return found

    def hang(self, call: str) -> Callable[[], None]:
        """Let the next such call of the backend hang until `driver.release`; what waits until it does."""
        before = self.driver.calls[call]
        self.driver.dial(call, hang=True, fail_times=1)
        return lambda: eventually(lambda: self.driver.calls[call] > before)

    def told(self, resource: str) -> list[tuple[str | None, str, str]]:
        """The messages to users about a resource: its type, the codes of action and detail."""
        with self.service.db.read() as tx:
            found = tx.scalars(everything().select(Message).where(Message.resource_uuid == resource))
            return [(one.resource_type, one.action_id, one.detail_id) for one in found]

    def enforced(self) -> set[str]:
        """The rules that the backend enforces, of all shares and snapshots."""
        return {rule for rules in self.driver.inventory().exports.values() for rule in rules}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as made:
        yield made
        made.driver.undial()
        made.driver.release()
        assert made.wrong() == []
