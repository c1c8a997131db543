"""The volume types that are found without being named."""

from __future__ import annotations

from oslo_config import cfg
from oslo_db import exception as db_errors
from sqlalchemy.orm import Session

from pumice.block.types.model import DefaultType, VolumeType
from pumice.kernel.db.engine import TryAgain
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import NotFound
from pumice.kernel.types import find_type

BUILT_IN = "__DEFAULT__"
"""Name of the type that is there from the first start on."""


def default_type(tx: Session, conf: cfg.ConfigOpts, project_id: str | None, *, hold: bool = False) -> VolumeType:
    """The type of volumes that are created without one: the project's own default, else the configured one.

    :param hold: see `kernel.types.find_type`
    :raises NotFound: the configured type does not exist
    """
    own = tx.get(DefaultType, project_id) if project_id else None
    return find_type(tx, VolumeType, everything(), own.volume_type_id if own else conf.default_volume_type, hold=hold)


def ensure_default_type(tx: Session) -> None:
    """Make the built-in type where it is missing (at start-up, several processes at once)."""
    try:
        find_type(tx, VolumeType, everything(), BUILT_IN)
    except NotFound:
        tx.add(VolumeType(name=BUILT_IN, description="Type of volumes that ask for none", extra_specs={}))
        try:
            tx.flush()
        except db_errors.DBDuplicateEntry as error:
            raise TryAgain from error
