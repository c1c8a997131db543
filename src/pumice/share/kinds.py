"""Every kind of operation of the Shared File Systems service."""

from __future__ import annotations

from pumice.share.access import operations as access
from pumice.share.admin import operations as admin
from pumice.share.shares import manage_operations as managing
from pumice.share.shares import operations as shares
from pumice.share.snapshots import operations as snapshots

KINDS = (*shares.KINDS, *managing.KINDS, *snapshots.KINDS, *access.KINDS, *admin.KINDS)
