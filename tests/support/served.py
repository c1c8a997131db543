"""What differs between the two services where tests run, ask and check them from outside."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

from pumice.block import invariants as of_volumes
from pumice.block.attachments.model import Attachment
from pumice.block.routes import API as BLOCK_API
from pumice.block.snapshots.model import Snapshot
from pumice.block.volumes.model import Volume
from pumice.kernel.api.routes import Route
from pumice.kernel.db.base import Owned
from pumice.share import invariants as of_shares
from pumice.share.access.model import AccessRule, SnapshotAccessRule
from pumice.share.routes import API as SHARE_API
from pumice.share.shares.model import Share
from pumice.share.snapshots.model import ShareSnapshot
from tests.support.shareservice import CAPABLE


class Ask(NamedTuple):
    """A request: the arguments of `Deployment.call`. `key` is an Idempotency-Key."""

    method: str
    path: str
    body: Any = None
    who: str = "member_a"
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """:param prefix: of its paths; {project} is the caller's
    :param sections: of its configuration: without quotas
    :param invariants: its module of that name
    :param part: the word for what serves backends, of commands and options
    :param api: the beginning of the API's options
    :param enabled: the option that lists its backends
    :param table: its API's routes
    :param made: what requests to these make that users keep
    :param first: what an administrator asks a new service for
    """

    name: str
    prefix: str
    headers: Mapping[str, str]
    sections: Mapping[str, Mapping[str, Any]]
    invariants: ModuleType
    part: str
    api: str
    enabled: str
    table: Sequence[Route]
    made: Sequence[type[Owned]]
    first: Sequence[Ask] = ()

    def adds(self, ask: Ask) -> bool:
        """Whether it is a request that is done once for all that have its key."""
        return any(
            route.method == ask.method
            and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", route.path), ask.path)
            and (not route.action or route.action in ask.body)
            for route in self.table
            if route.creates
        )


BLOCK = Served(
    name="block",
    prefix="/v3/{project}",
    headers={"OpenStack-API-Version": "volume 3.71"},
    sections={"DEFAULT": dict.fromkeys(("quota_volumes", "quota_snapshots", "quota_gigabytes"), -1)},
    invariants=of_volumes,
    part="volume",
    api="osapi_volume",
    enabled="enabled_backends",
    table=BLOCK_API.table,
    made=[Volume, Snapshot, Attachment],
)
SHARE = Served(
    name="share",
    prefix="/v2",
    headers={"X-OpenStack-Manila-API-Version": "2.99"},
    sections={
        "DEFAULT": {"default_share_type": "default"},
        "quota": dict.fromkeys(("shares", "snapshots", "gigabytes", "snapshot_gigabytes"), -1),
    },
    invariants=of_shares,
    part="share",
    api="osapi_share",
    enabled="enabled_share_backends",
    table=SHARE_API.table,
    made=[Share, ShareSnapshot, AccessRule, SnapshotAccessRule],
    first=[Ask("POST", "/types", {"share_type": {"name": "default", "extra_specs": CAPABLE}}, "admin")],
)
