"""Every table of the Shared File Systems service, those of the kernel included: importing this declares them all."""

from __future__ import annotations

from sqlalchemy import Table

from pumice.kernel.db.base import Base
from pumice.kernel.messages import Message
from pumice.kernel.notify import Notification
from pumice.kernel.operations.model import Hold, Operation
from pumice.kernel.quotas import QuotaLimit, QuotaUsage
from pumice.kernel.scheduling.pool import Pool
from pumice.kernel.services import Cluster, WorkerService
from pumice.share.access.model import AccessRule, SnapshotAccessRule
from pumice.share.locks.model import ResourceLock
from pumice.share.shares.model import ExportLocation, Share, ShareInstance
from pumice.share.snapshots.model import ShareSnapshot, SnapshotExportLocation, SnapshotInstance
from pumice.share.transfers.model import ShareTransfer
from pumice.share.types.model import ShareType, ShareTypeAccess

MODELS: tuple[type[Base], ...] = (
    Share,
    ShareInstance,
    ExportLocation,
    AccessRule,
    SnapshotAccessRule,
    ShareSnapshot,
    SnapshotInstance,
    SnapshotExportLocation,
    ShareType,
    ShareTypeAccess,
    ResourceLock,
    ShareTransfer,
    Operation,
    Hold,
    QuotaUsage,
    QuotaLimit,
    Pool,
    WorkerService,
    Cluster,
    Message,
    Notification,
)

TABLES: tuple[Table, ...] = tuple(Base.metadata.tables[model.__tablename__] for model in MODELS)
