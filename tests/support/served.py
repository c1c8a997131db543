"""What differs between the two services where tests run, ask and check them from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

from pumice.block import invariants as of_volumes
from pumice.share import invariants as of_shares
from tests.support.shareservice import CAPABLE


class Ask(NamedTuple):
    """A request: the arguments of `Deployment.call`."""

    method: str
    path: str
    body: Any = None
    who: str = "member_a"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """:param prefix: of its paths; {project} is the caller's
    :param sections: of its configuration: without quotas
    :param invariants: its module of that name
    :param part: the word for what serves backends, of commands and options
    :param api: the beginning of the API's options
    :param enabled: the option that lists its backends
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
    first: Sequence[Ask] = ()


BLOCK = Served(
    name="block",
    prefix="/v3/{project}",
    headers={"OpenStack-API-Version": "volume 3.71"},
    sections={"DEFAULT": dict.fromkeys(("quota_volumes", "quota_snapshots", "quota_gigabytes"), -1)},
    invariants=of_volumes,
    part="volume",
    api="osapi_volume",
    enabled="enabled_backends",
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
    first=[Ask("POST", "/types", {"share_type": {"name": "default", "extra_specs": CAPABLE}}, "admin")],
)
