"""Options of transfers. Names and meanings are manila.conf's."""

from __future__ import annotations

from oslo_config import cfg

TRANSFERS = [
    cfg.IntOpt(
        "transfer_retention_time",
        default=300,
        min=1,
        help="Seconds in which a share that is offered to other projects must be accepted.",
    ),
    cfg.IntOpt(
        "check_for_expired_transfers",
        default=300,
        min=1,
        help="Seconds between two looks for transfers that nobody accepted in time.",
    ),
    cfg.IntOpt("share_transfer_salt_length", default=8, min=8, help="Characters of the salt of a transfer's key."),
    cfg.IntOpt("share_transfer_key_length", default=16, min=16, help="Characters of a transfer's key."),
]
