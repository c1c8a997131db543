"""The share type that is found without being named."""

from __future__ import annotations

from oslo_config import cfg
from sqlalchemy.orm import Session

from pumice.kernel.db.scope import everything
from pumice.kernel.errors import NotFound
from pumice.kernel.types import find_type
from pumice.share.types.model import ShareType


def default_type(tx: Session, conf: cfg.ConfigOpts, *, hold: bool = False) -> ShareType | None:
    """The configured type of shares that are created without one; None where none is configured or it is not there.

    :param hold: see `kernel.types.find_type`
    """
    if not conf.default_share_type:
        return None
    try:
        return find_type(tx, ShareType, everything(), conf.default_share_type, hold=hold)
    except NotFound:
        return None
