"""The Block Storage service: its API, its scheduler, and the volume workers of its backends."""

from __future__ import annotations

from typing import Any

from oslo_config import cfg

from pumice.block.admin import binaries
from pumice.block.backends import QUEUE, VolumeBackend
from pumice.block.compute import Compute
from pumice.block.kinds import KINDS
from pumice.block.message_codes import Detail
from pumice.block.quotas.resources import quotas_of
from pumice.block.types.lookup import ensure_default_type
from pumice.block.volumes.placement import lookups
from pumice.kernel import config
from pumice.kernel.scheduling.plugins import Lookups
from pumice.kernel.serving import BackendService


class BlockService(BackendService):
    """:param conf: of `pumice.kernel.config.load("block", …)`"""

    api_binary, scheduler_binary, worker_binary = binaries.API, binaries.SCHEDULER, binaries.VOLUME
    part = QUEUE
    refusal = Detail.NO_BACKEND

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__("block", conf, KINDS, quotas_of(conf))
        self.compute = Compute(conf)

    def prepare(self) -> None:
        self.db.write(ensure_default_type)

    def lookups(self) -> Lookups:
        return lookups(self.db, self.compute.host_of)

    def backend(self, name: str, described: config.Backend, driver: Any) -> VolumeBackend:
        shown = described.section.volume_backend_name or described.name
        return VolumeBackend(name, shown, driver, db=self.db, bus=self.bus, locks=self.locks, compute=self.compute)


SERVICE = BlockService
