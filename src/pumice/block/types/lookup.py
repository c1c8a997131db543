"""Finding volume types, for whoever makes something of one.

`hold` keeps a type as it is until the transaction ends: it is not deleted and its extra specs do not change
before those who would do that see what the transaction has made of the type.
"""

from __future__ import annotations

from typing import Any

from oslo_config import cfg
from oslo_db import exception as db_errors
from sqlalchemy import Select, or_
from sqlalchemy.orm import Session

from pumice.block.types.model import DefaultType, VolumeType
from pumice.kernel.db.engine import TryAgain
from pumice.kernel.db.scope import Scope, everything
from pumice.kernel.errors import NotFound

BUILT_IN = "__DEFAULT__"
"""Name of the type that is there from the first start on."""


def find_type(tx: Session, scope: Scope, name_or_id: str, *, hold: bool = False) -> VolumeType:
    """The type of that id or name; an id goes first.

    :raises NotFound: there is none, or it is not this scope's to see
    """
    named: Select[Any] = scope.select(VolumeType).where(or_(VolumeType.id == name_or_id, VolumeType.name == name_or_id))
    found: list[VolumeType] = list(tx.scalars(named.with_for_update(read=True) if hold else named))
    if not found:
        raise NotFound(f"Volume type {name_or_id} could not be found.")
    return min(found, key=lambda one: one.id != name_or_id)


def default_type(tx: Session, conf: cfg.ConfigOpts, project_id: str | None, *, hold: bool = False) -> VolumeType:
    """The type of volumes that are created without one: the project's own default, else the configured one.

    :raises NotFound: the configured type does not exist
    """
    own = tx.get(DefaultType, project_id) if project_id else None
    return find_type(tx, everything(), own.volume_type_id if own else conf.default_volume_type, hold=hold)


def ensure_default_type(tx: Session) -> None:
    """Make the built-in type where it is missing (at start-up, several processes at once)."""
    try:
        find_type(tx, everything(), BUILT_IN)
    except NotFound:
        tx.add(VolumeType(name=BUILT_IN, description="Type of volumes that ask for none", extra_specs={}))
        try:
            tx.flush()
        except db_errors.DBDuplicateEntry as error:
            raise TryAgain from error
