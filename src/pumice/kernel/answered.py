"""What was answered to requests that may be repeated (`kernel.api.idempotency`)."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from pumice.kernel.db.base import Base, Owned


class Answered(Owned, Base):
    """A request that was accepted with an Idempotency-Key, of its project and user, and its answer.

    `key_hash` is the SHA-256 of the key with its owner, `request_hash` that of what was asked for; both in hexadecimal
    digits.
    """

    __tablename__ = "idempotency_keys"
    __label__: ClassVar[str] = "Idempotency key"

    key_hash: Mapped[str] = mapped_column(String(64), unique=True)
    request_hash: Mapped[str] = mapped_column(String(64))
    answer: Mapped[dict[str, Any]]
    headers: Mapped[dict[str, str]]
