"""A backend of shares in its worker, and what steps ask of it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from pumice.kernel import backends, steps
from pumice.kernel.bus import Bus
from pumice.kernel.db.engine import Database
from pumice.kernel.drivers import BackendError, PoolStats
from pumice.kernel.locks import Locks, LockTimeout
from pumice.kernel.moves import Superseded
from pumice.kernel.operations.worker import Run
from pumice.share.drivers.base import OPTIONAL, ShareDriver
from pumice.share.instances.exports import ensure, to_ensure
from pumice.share.message_codes import Detail

LOG = logging.getLogger(__name__)

QUEUE = "share"
queue_of = partial(backends.queue_of, QUEUE)


def instance_lock(instance_id: str) -> str:
    """The lock of whoever has a backend do something with an instance, its snapshots or its rules."""
    return f"share-{instance_id}"


alone = steps.alone(lambda run: instance_lock(run.args.get("instance_id", run.operation.resource_id)))
"""Of steps that call the driver about a share instance: `args["instance_id"]`, or the resource."""

driver_of: Callable[[Run], ShareDriver] = steps.driver_of
refused = partial(steps.refused, full=Detail.NO_BACKEND)
refused_as = partial(steps.refused_as, full=Detail.NO_BACKEND)


class ShareBackend(backends.Backend[ShareDriver]):
    """:param threads: shares that are made sure of at a time"""

    shown_as, optional = "share_backend_name", OPTIONAL
    not_started = Detail.SERVICE_DOWN

    def __init__(
        self,
        name: str,
        shown: str,
        driver: ShareDriver,
        *,
        db: Database,
        bus: Bus,
        locks: Locks,
        threads: int,
    ) -> None:
        super().__init__(name, shown, driver, db=db, bus=bus, locks=locks)
        self._threads = threads
        self._ensuring: threading.Thread | None = None

    def keep(self, *, first: bool) -> None:
        """Have every share made sure of after a start, and later those whose exports the file server has lost, or
        whose rules could not be applied.

        In a thread of its own: with thousands of shares it takes its time, and reports must go on.
        """
        if self._ensuring is not None and self._ensuring.is_alive():
            return
        held = () if first else self._driver.exports()
        with self._db.read() as tx:
            found = to_ensure(tx, self.name, held)
        if found:
            self._ensuring = threading.Thread(
                target=self._ensure_all, args=(found,), name=f"ensure-{self.name}", daemon=True
            )
            self._ensuring.start()

    def stop(self) -> None:
        self._stopping = True
        if self._ensuring is not None:
            self._ensuring.join(backends.STOP_PATIENCE)
        super().stop()

    def ensured(self) -> bool:
        """Whether all shares have been made sure of since the start."""
        return self._ensuring is None or not self._ensuring.is_alive()

    def _ensure_all(self, ids: list[str]) -> None:
        with ThreadPoolExecutor(self._threads, thread_name_prefix=f"ensure-{self.name}") as threads:
            list(threads.map(self.ensure, ids))

    def ensure(self, instance_id: str) -> None:
        """See that an instance is there and exported to whom its rules name; trouble goes to the log."""
        if self._stopping:
            return
        try:
            with self.exclusive(instance_lock(instance_id), 0.0):
                ensure(self._db, self._driver, instance_id)
        except LockTimeout:
            LOG.info("share instance %s is looked at in the next round: it is being changed", instance_id)
        except (BackendError, Superseded) as error:
            LOG.warning("share instance %s could not be made sure of: %s", instance_id, error)
        except Exception:
            LOG.exception("share instance %s could not be made sure of", instance_id)

    def capabilities(self, _stats: PoolStats) -> dict[str, Any]:
        return {
            "storage_protocol": "_".join(self._driver.protocols),
            "driver_handles_share_servers": False,
            "snapshot_support": "snapshots" in self.features,
            "create_share_from_snapshot_support": "create_share_from_snapshot" in self.features,
            "revert_to_snapshot_support": "revert_to_snapshot" in self.features,
            "mount_snapshot_support": "mount_snapshot" in self.features,
            "snapshot_inherit_share_access_support": "mount_snapshot" in self.features,
            "replication_type": None,
            "replication_domain": None,
            "qos": False,
            "dedupe": False,
            "compression": False,
            "security_service_update_support": False,
            "network_allocation_update_support": False,
            "share_server_multiple_subnet_support": False,
            "share_replicas_migration_support": False,
            "encryption_support": None,
            "qos_type_support": False,
            "max_shares_per_share_server": -1,
            "max_share_server_size": -1,
            "share_group_stats": {"consistent_snapshot_support": None},
        }
