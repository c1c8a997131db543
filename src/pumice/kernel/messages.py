"""Messages to the user about what went wrong after a request was accepted.

Codes are those of the API (section "User messages"), the texts are ours. A row holds codes only, so that a
better text also reaches old messages.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Self

from sqlalchemy import String
from sqlalchemy.orm import Mapped, Session, mapped_column

from pumice.kernel.db.base import Base, Owned, new_id, utcnow

TTL = 30 * 24 * 3600
"""Seconds that a message is kept by default (`message_ttl`)."""


class Code(Enum):
    """A three-digit code and its text. Each service has its own actions and details."""

    def __init__(self, id: str, text: str) -> None:
        self.id = id
        self.text = text

    @classmethod
    def of(cls, id: str) -> Self | None:
        """The member with that code; None for a code of another release."""
        return next((member for member in cls if member.id == id), None)


class Cause(Code):
    """What all services say of a failure of which they know no more."""

    UNKNOWN = "001", "The cause is not known."


class Message(Owned, Base):
    __tablename__ = "messages"
    __label__: ClassVar[str] = "Message"

    event_id: Mapped[str] = mapped_column(String(255), index=True)
    action_id: Mapped[str] = mapped_column(String(10))
    detail_id: Mapped[str] = mapped_column(String(10))
    message_level: Mapped[str] = mapped_column(String(16), default="ERROR")
    resource_type: Mapped[str | None] = mapped_column(String(64))
    resource_uuid: Mapped[str | None] = mapped_column(String(36), index=True)
    request_id: Mapped[str | None] = mapped_column(String(255), index=True)
    expires_at: Mapped[datetime.datetime] = mapped_column(index=True)


@dataclass(frozen=True, slots=True)
class Messages:
    """How one service writes messages.

    :param service: as the ids of events name it, "VOLUME"
    :param ttl: seconds until a message may be removed
    """

    service: str
    ttl: int = TTL

    def record(
        self,
        tx: Session,
        *,
        project_id: str,
        request_id: str | None,
        resource_type: str,
        resource_id: str,
        action: Code,
        detail: Code,
    ) -> Message:
        """Write a message in the transaction that ends what went wrong.

        :param resource_type: as the API names it: VOLUME, VOLUME_SNAPSHOT, SHARE
        """
        message = Message(
            id=new_id(),
            project_id=project_id,
            request_id=request_id,
            resource_type=resource_type,
            resource_uuid=resource_id,
            event_id=f"{self.service}_{resource_type}_{action.id}_{detail.id}",
            action_id=action.id,
            detail_id=detail.id,
            expires_at=utcnow() + datetime.timedelta(seconds=self.ttl),
        )
        tx.add(message)
        return message


def user_message(message: Message, actions: type[Code], details: type[Code], colon: str) -> str:
    """The text of a message: what was done, a colon (with or without a blank after it), why it failed."""
    action, detail = actions.of(message.action_id), details.of(message.detail_id)
    return f"{action.text if action else 'An action'}{colon}{detail.text if detail else Cause.UNKNOWN.text}"
