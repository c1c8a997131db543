"""Tables of share types."""

from __future__ import annotations

from typing import ClassVar

from pumice.kernel.db.base import Base
from pumice.kernel.types import AccessRow, TypeRow


class ShareTypeAccess(AccessRow, Base):
    __tablename__ = "share_type_access"


class ShareType(TypeRow, Base):
    """`extra_specs` holds required and optional specs as text; driver_handles_share_servers is always there."""

    __tablename__ = "share_types"
    __label__: ClassVar[str] = "Share type"
    __access__: ClassVar[type[AccessRow]] = ShareTypeAccess
