"""Messages to the user about what went wrong after a request was accepted.

Codes are those of the API (section "User messages"), the texts are ours. A row holds codes only, so that a
better text also reaches old messages.
"""

from __future__ import annotations

import datetime
from enum import Enum
from typing import ClassVar, Self

from sqlalchemy import ColumnElement, String, delete, select
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


class Action(Code):
    """What was being done, in block storage."""

    SCHEDULE = "001", "Choosing a backend for the volume"
    ATTACH = "002", "Attaching the volume"
    COPY_TO_IMAGE = "003", "Copying the volume to an image"
    UPDATE_ATTACHMENT = "004", "Updating the attachment"
    COPY_FROM_IMAGE = "005", "Copying an image to the volume"
    UNMANAGE = "006", "Unmanaging the volume"
    EXTEND = "007", "Extending the volume"
    CREATE = "008", "Creating the volume on its backend"
    CREATE_SNAPSHOT = "009", "Creating the snapshot"
    DELETE_SNAPSHOT = "010", "Deleting the snapshot"
    UPDATE_SNAPSHOT = "011", "Updating the snapshot"
    UPDATE_SNAPSHOT_METADATA = "012", "Updating the snapshot's metadata"
    CREATE_BACKUP = "013", "Creating the backup"
    DELETE_BACKUP = "014", "Deleting the backup"
    RESTORE_BACKUP = "015", "Restoring the backup"
    REIMAGE = "016", "Writing a new image to the volume"


class Detail(Code):
    """Why it went wrong, in block storage."""

    UNKNOWN = "001", "The cause is not known."
    DRIVER_NOT_STARTED = "002", "The driver of the backend has not started up."
    NO_BACKEND = "003", "No backend could take the request."
    IMAGE_UPLOAD_FAILED = "004", "The image service did not take the upload."
    WRONG_ATTACH_MODE = "005", "The attach mode does not fit the volume."
    OVER_QUOTA = "006", "A quota is exceeded."
    IMAGE_DOES_NOT_FIT = "007", "The image does not fit the volume."
    UNMANAGE_ENCRYPTED = "008", "An encrypted volume cannot be unmanaged."
    COMPUTE_EXTEND_FAILED = "009", "Compute failed to extend the volume."
    DRIVER_EXTEND_FAILED = "010", "The backend failed to extend the volume."
    IMAGE_SIGNATURE = "011", "The image's signature could not be verified."
    DRIVER_CREATE_FAILED = "012", "The backend failed to create the volume."
    DRIVER_SNAPSHOT_FAILED = "013", "The backend failed to create the snapshot."
    SNAPSHOT_METADATA_FAILED = "014", "The snapshot's metadata could not be updated."
    SNAPSHOT_IN_USE = "015", "The snapshot is in use."
    DRIVER_DELETE_SNAPSHOT_FAILED = "016", "The backend failed to delete the snapshot."
    BACKUP_STATE = "017", "The backup is in a state that does not allow this."
    BACKUP_SERVICE_DOWN = "018", "The backup service is not running."
    BACKUP_NO_DEVICE = "019", "No device to read the data from could be set up."
    BACKUP_CREATE_FAILED = "020", "The backup store failed to take the backup."
    BACKUP_ATTACH_FAILED = "021", "The volume could not be attached for the backup."
    BACKUP_DETACH_FAILED = "022", "The volume could not be detached after the backup."
    BACKUP_CLEANUP_FAILED = "023", "What the backup needed for a while could not be removed."
    BACKUP_NO_SERVICE = "024", "No backup service could be chosen."
    BACKUP_DELETE_FAILED = "025", "The backup store failed to delete the backup."
    BACKUP_RESTORE_FAILED = "026", "The backup store failed to restore the backup."
    VOLUME_STATE = "027", "The volume is in a state that does not allow this."
    COMPUTE_REIMAGE_FAILED = "028", "Compute failed to write the new image to the volume."
    IMAGE_FORMAT = "029", "The format of the image is not accepted."
    BACKUP_MADE_FULL = "030", "A full backup was made instead of an incremental one."


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

    @classmethod
    def visible_to(cls, project_id: str) -> ColumnElement[bool]:
        return cls.project_id == project_id


def record(
    tx: Session,
    *,
    project_id: str,
    request_id: str | None,
    resource_type: str,
    resource_id: str,
    action: Code,
    detail: Code,
    level: str = "ERROR",
    prefix: str = "VOLUME",
    ttl: int = TTL,
) -> Message:
    """Write a message in the transaction that ends what went wrong.

    :param resource_type: as the API names it: VOLUME, VOLUME_SNAPSHOT, VOLUME_BACKUP
    :param ttl: seconds until the message may be removed (`message_ttl`)
    """
    message = Message(
        id=new_id(),
        project_id=project_id,
        request_id=request_id,
        resource_type=resource_type,
        resource_uuid=resource_id,
        event_id=f"{prefix}_{resource_type}_{action.id}_{detail.id}",
        action_id=action.id,
        detail_id=detail.id,
        message_level=level,
        expires_at=utcnow() + datetime.timedelta(seconds=ttl),
    )
    tx.add(message)
    return message


def user_message(message: Message, actions: type[Code] = Action, details: type[Code] = Detail, colon: str = ":") -> str:
    """The text of a message: what was done, a colon, why it failed.

    :param colon: block storage writes no blank after it
    """
    action, detail = actions.of(message.action_id), details.of(message.detail_id)
    return f"{action.text if action else 'An action'}{colon}{detail.text if detail else Detail.UNKNOWN.text}"


def reap(tx: Session, now: datetime.datetime, batch: int = 1000) -> int:
    """Delete up to `batch` messages that expired before `now`.

    :returns: how many; call again while it is `batch`
    """
    ids = tx.scalars(select(Message.id).where(Message.expires_at < now).order_by(Message.expires_at).limit(batch)).all()
    if ids:
        tx.execute(delete(Message).where(Message.id.in_(ids)))
    return len(ids)
