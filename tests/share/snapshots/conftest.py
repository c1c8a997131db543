from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.shareservice import Shares


class World(Shares):
    """A share service, and words about snapshots."""

    def snapshot(self, share: str, *, who: str = "member_a", version: str = "2.99", **values: Any) -> str:
        """A new snapshot that is available; its id."""
        body = {"snapshot": {"share_id": share, **values}}
        id: str = self.ok("POST", "/snapshots", body, status=202, who=who, version=version)["snapshot"]["id"]
        assert self.rest(f"/snapshots/{id}") == "available"
        return id

    def shown(self, id: str, **more: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.ok("GET", f"/snapshots/{id}", **more)["snapshot"]
        return found

    def instance(self, id: str) -> dict[str, Any]:
        """The instance of a snapshot, as administrators see it."""
        found = self.ok("GET", f"/snapshot-instances/detail?snapshot_id={id}", who="admin_a")["snapshot_instances"]
        (one,) = found
        return dict(one)

    def used(self, query: str = "") -> dict[str, int]:
        quotas = self.ok("GET", f"/quota-sets/{'a' * 32}/detail{query}", who="admin_a")["quota_set"]
        return {name: quotas[name]["in_use"] for name in ("shares", "gigabytes", "snapshots", "snapshot_gigabytes")}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as made:
        yield made
        assert made.all_wrong() == []
