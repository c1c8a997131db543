"""Every kind of operation of the Block Storage service."""

from __future__ import annotations

from pumice.block.snapshots import operations as snapshots
from pumice.block.volumes import operations as volumes

KINDS = (*volumes.KINDS, *snapshots.KINDS)
