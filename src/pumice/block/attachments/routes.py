"""The routes of attachments, and of the older actions that attach and detach (sections 9 and 7 of the API)."""

from __future__ import annotations

from pumice.block.attachments import handlers
from pumice.block.attachments.model import Attachment
from pumice.block.attachments.shapes import CreateAttachment, UpdateAttachment
from pumice.kernel.api.routes import MEMBER, Route, Rule

ALL, ONE = "/attachments", "/attachments/{id}"

ROUTES = [
    Route("GET", f"{ALL}/detail", handlers.detail, policy="", since="3.27"),
    Route("GET", ALL, handlers.index, policy="", since="3.27"),
    Route("POST", ALL, handlers.create, policy="volume:attachment_create", since="3.27", body=CreateAttachment),
    Route("GET", ONE, handlers.show, policy="", since="3.27", load=Attachment),
    Route(
        "PUT",
        ONE,
        handlers.update,
        policy="volume:attachment_update",
        since="3.27",
        body=UpdateAttachment,
        load=Attachment,
    ),
    Route("DELETE", ONE, handlers.delete, policy="volume:attachment_delete", since="3.27", load=Attachment),
    Route(
        "POST",
        f"{ONE}/action",
        handlers.complete,
        policy="volume:attachment_complete",
        action="os-complete",
        since="3.44",
        load=Attachment,
        success=204,
    ),
]

RULES = [
    Rule(
        name="volume:multiattach_bootable_volume",
        check=MEMBER,
        doc="Attach a bootable multiattach volume that is in use already",
    ),
]
LISTING = handlers.ATTACHMENTS
