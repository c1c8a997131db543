"""Services and pools on the wire (section 19 of the API)."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Annotated, Any

from pumice.kernel.api.fields import Since
from pumice.kernel.api.shapes import Shape
from pumice.kernel.api.values import Host, Text, Word
from pumice.kernel.api.views import Of, View
from pumice.kernel.services import state_word, status_word

if TYPE_CHECKING:
    from pumice.kernel.scheduling.pool import PoolState

REASONS_FROM, ENSURING_FROM = "2.83", "2.86"


class ChangedService(View):
    """What enable and disable answer."""

    host: str
    binary: str
    status: Annotated[str, Of(status_word)]
    disabled_reason: Annotated[str | None, Since(REASONS_FROM)]
    ensuring: Annotated[bool, Since(ENSURING_FROM)]


class ServiceDetail(ChangedService):
    """`ensuring` is set by whoever reads the row."""

    id: int
    zone: Annotated[str, Of(lambda row, _: row.availability_zone)]
    state: Annotated[str, Of(state_word)]
    updated_at: Annotated[datetime.datetime, Of(lambda row, _: row.last_seen)]


class Zone(View):
    id: str
    name: str
    created_at: datetime.datetime
    updated_at: datetime.datetime | None


def _backend(pool: PoolState) -> str:
    return pool.host.partition("@")[2].partition("#")[0]


class PoolSummary(View):
    name: Annotated[str, Of(lambda pool, _: pool.host)]
    host: Annotated[str, Of(lambda pool, _: pool.host.partition("@")[0])]
    backend: Annotated[str, Of(lambda pool, _: _backend(pool))]
    pool: Annotated[str, Of(lambda pool, _: pool.host.partition("#")[2])]


class PoolDetail(PoolSummary):
    capabilities: Annotated[dict[str, Any], Of(lambda pool, _: shown_capabilities(pool))]


def shown_capabilities(pool: PoolState) -> dict[str, Any]:
    """All that is reported; one reserve holds for snapshots and for growth too."""
    reserved = pool.reserved_percentage
    return {
        "reserved_snapshot_percentage": reserved,
        "reserved_share_extend_percentage": reserved,
        "thin_provisioning": pool.thin,
        **pool.capabilities,
    }


class OneService(Shape):
    host: Host
    binary: Word


class DisableService(OneService):
    disabled_reason: Text | None = None


class EnsuredHost(Shape):
    host: Host


class EnsureShares(Shape):
    """The host by itself, as python-manilaclient sends it, or below `ensure_shares`."""

    host: Host | None = None
    ensure_shares: EnsuredHost | None = None

    def __post_init__(self) -> None:
        if not (self.host or self.ensure_shares):
            raise ValueError("the key `host` is missing")

    def asked(self) -> str:
        return str(self.ensure_shares.host if self.ensure_shares else self.host)
