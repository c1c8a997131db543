"""Services, hosts and clusters on the wire (section 20 of the API)."""

from __future__ import annotations

import datetime
from typing import Annotated

from pumice.block.admin import binaries
from pumice.kernel.api.fields import Named, Since
from pumice.kernel.api.shapes import Shape
from pumice.kernel.api.values import Boolean, Host, Text, Uuid, Word, integer, one_of
from pumice.kernel.api.views import Of, View
from pumice.kernel.services import state_word, status_word, up


class ServiceDetail(View):
    binary: str
    host: str
    zone: Annotated[str, Of(lambda row, _: row.availability_zone)]
    status: Annotated[str, Of(status_word)]
    state: Annotated[str, Of(state_word)]
    updated_at: Annotated[datetime.datetime, Of(lambda row, _: row.last_seen)]
    disabled_reason: str | None
    cluster: Annotated[str | None, Since("3.7")]


class VolumeServiceDetail(ServiceDetail):
    """`backend_state` is what the worker said last; a worker that is down has said nothing lately."""

    replication_status: str
    active_backend_id: str | None
    frozen: bool
    backend_state: Annotated[str, Since("3.49"), Of(lambda row, req: row.backend_state if up(row, req) else "down")]


class HostSummary(View):
    host_name: Annotated[str, Of(lambda row, _: row.host)]
    service: Annotated[str, Of(lambda row, _: row.topic)]
    zone: Annotated[str, Of(lambda row, _: row.availability_zone)]
    status: Annotated[str, Named("service-status"), Of(lambda row, req: "available" if up(row, req) else "unavailable")]
    state: Annotated[str, Named("service-state"), Of(status_word)]
    last_update: Annotated[datetime.datetime, Named("last-update"), Of(lambda row, _: row.last_seen)]


class ClusterSummary(View):
    name: str
    binary: str
    state: Annotated[str, Of(lambda row, _: "up" if row.is_up else "down")]
    status: Annotated[str, Of(status_word)]
    replication_status: Annotated[str, Since("3.26")]


class DisabledCluster(ClusterSummary):
    disabled_reason: str | None


class ClusterDetail(DisabledCluster):
    num_hosts: int
    num_down_hosts: int
    last_heartbeat: datetime.datetime | None
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    frozen: Annotated[bool, Since("3.26")]
    active_backend_id: Annotated[str | None, Since("3.26")]


class OneService(Shape):
    """A service is named by its host and its binary, which older clients call `service`."""

    host: Host
    binary: Text = ""
    service: Text = ""

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("one of binary and service is needed")

    @property
    def name(self) -> str:
        return self.binary or self.service


class DisableWithReason(OneService):
    disabled_reason: Word


class HostOrCluster(Shape):
    host: Host | None = None
    cluster: Annotated[Text | None, Since("3.26")] = None


class Failover(HostOrCluster):
    backend_id: Text | None = None


class HostStatus(Shape, strict=True):
    status: Annotated[str, one_of("enable", "disable")]


class EnableCluster(Shape):
    name: Word
    binary: Word = binaries.VOLUME


class DisableCluster(EnableCluster):
    disabled_reason: Word | None = None


LoggingBinary = Annotated[str, one_of("", "*", binaries.API, binaries.VOLUME, binaries.SCHEDULER, binaries.BACKUP)]


class GetLog(Shape):
    """Empty or null means all, as does the binary `*`."""

    binary: LoggingBinary | None = None
    server: Text | None = None
    prefix: Text | None = None


class SetLog(GetLog):
    level: Word


class Cleanup(Shape, strict=True):
    cluster_name: Text | None = None
    host: Text | None = None
    binary: Annotated[str, one_of(binaries.VOLUME, binaries.SCHEDULER)] | None = None
    is_up: Boolean | None = None
    disabled: Boolean | None = None
    resource_id: Uuid | None = None
    resource_type: Annotated[str, one_of("Volume", "Snapshot")] | None = None
    service_id: Annotated[int, integer(0, 99999999999)] | None = None


class CleanedService(View):
    id: int
    host: str
    binary: str
    cluster_name: Annotated[str | None, Of(lambda row, _: row.cluster)]
