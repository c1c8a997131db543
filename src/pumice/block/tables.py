"""Every table of the Block Storage service, those of the kernel included: importing this module declares them all."""

from __future__ import annotations

from sqlalchemy import Table

from pumice.block.attachments.model import Attachment, Connection
from pumice.block.snapshots.model import Snapshot
from pumice.block.types.model import DefaultType, VolumeType, VolumeTypeAccess
from pumice.block.volumes.model import Volume
from pumice.kernel.db.base import Base
from pumice.kernel.messages import Message
from pumice.kernel.notify import Notification
from pumice.kernel.operations.model import Hold, Operation
from pumice.kernel.quotas import QuotaLimit, QuotaUsage
from pumice.kernel.scheduling.pool import Pool
from pumice.kernel.services import Cluster, WorkerService

MODELS: tuple[type[Base], ...] = (
    Volume,
    Snapshot,
    Attachment,
    Connection,
    VolumeType,
    VolumeTypeAccess,
    DefaultType,
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
