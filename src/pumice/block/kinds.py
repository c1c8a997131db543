"""Every kind of operation of the Block Storage service."""

from __future__ import annotations

from pumice.block.attachments import operations as attachments
from pumice.block.snapshots import operations as snapshots
from pumice.block.volumes import operations as volumes

KINDS = (*volumes.KINDS, *snapshots.KINDS, *attachments.KINDS)
