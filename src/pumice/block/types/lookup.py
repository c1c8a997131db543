"""Finding volume types, for whoever makes something of one."""

from __future__ import annotations

from typing import Any

from oslo_config import cfg
from oslo_db import exception as db_errors
from sqlalchemy import Select
from sqlalchemy.orm import Session

from pumice.block.types.model import DefaultType, VolumeType
from pumice.kernel.db.engine import TryAgain
from pumice.kernel.db.scope import Scope, everything
from pumice.kernel.errors import NotFound

BUILT_IN = "__DEFAULT__"
"""Name of the type that is there from the first start on."""


def find_type(tx: Session, scope: Scope, name_or_id: str) -> VolumeType:
    """The type of that id or name; an id goes first.

    :raises NotFound: there is none, or it is not this scope's to see
    """
    found = scope.find(tx, VolumeType, name_or_id) or type_named(tx, scope, name_or_id)
    if found is None:
        raise NotFound(f"Volume type {name_or_id} could not be found.")
    return found


def type_named(tx: Session, scope: Scope, name: str) -> VolumeType | None:
    statement: Select[Any] = scope.select(VolumeType).where(VolumeType.name == name)
    found: VolumeType | None = tx.scalars(statement).one_or_none()
    return found


def default_type(tx: Session, conf: cfg.ConfigOpts, project_id: str | None) -> VolumeType:
    """The type of volumes that are created without one: the project's own default, else the configured one.

    :raises NotFound: the configured type does not exist
    """
    own = tx.get(DefaultType, project_id) if project_id else None
    found = everything().find(tx, VolumeType, own.volume_type_id) if own else None
    found = found or type_named(tx, everything(), conf.default_volume_type)
    if found is None:
        raise NotFound(f"The default volume type {conf.default_volume_type} could not be found.")
    return found


def ensure_default_type(tx: Session) -> None:
    """Make the built-in type where it is missing (at start-up, several processes at once)."""
    if type_named(tx, everything(), BUILT_IN) is not None:
        return
    tx.add(VolumeType(name=BUILT_IN, description="Default Volume Type", is_public=True, extra_specs={}))
    try:
        tx.flush()
    except db_errors.DBDuplicateEntry as error:
        raise TryAgain from error
