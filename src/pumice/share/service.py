"""The Shared File Systems service: its API, its scheduler, and the share workers of its backends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oslo_config import cfg

from pumice.kernel import config
from pumice.kernel.housekeeping import Periodic
from pumice.kernel.scheduling.plugins import Lookups
from pumice.kernel.serving import BackendService
from pumice.share import binaries, deferred
from pumice.share.backends import QUEUE, ShareBackend
from pumice.share.kinds import KINDS
from pumice.share.message_codes import REFUSED_BY, Action, Detail
from pumice.share.quotas.resources import quotas_of
from pumice.share.shares import deletion
from pumice.share.shares.placement import lookups
from pumice.share.transfers import offers


class ShareService(BackendService):
    """:param conf: of `pumice.kernel.config.load("share", …)`"""

    api_binary, scheduler_binary, worker_binary = binaries.API, binaries.SCHEDULER, binaries.SHARE
    part = QUEUE
    refusal, refusals, placing = Detail.NO_BACKEND, REFUSED_BY, Action.PLACE

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__("share", conf, KINDS, quotas_of(conf))

    def prepare(self) -> None:
        """Nothing: types are the operator's to make."""

    def chores(self) -> Iterable[Periodic]:
        recycled, offered = self.conf.soft_deleted_shares_check_interval, self.conf.check_for_expired_transfers
        failed = self.conf.periodic_deferred_delete_interval
        return (
            Periodic("recycle-bin", float(recycled), lambda: deletion.expire(self.db, self.journal)),
            Periodic("deferred", float(failed), lambda: deferred.retry(self.db, self.journal)),
            Periodic("transfers", float(offered), lambda: offers.expire(self.db)),
        )

    def lookups(self) -> Lookups:
        return lookups(self.db)

    def backend(self, name: str, described: config.Backend, driver: Any) -> ShareBackend:
        shown = described.section.share_backend_name or described.name
        return ShareBackend(
            name, shown, driver, db=self.db, bus=self.bus, locks=self.locks, threads=self.conf.ensure_threads
        )


SERVICE = ShareService
