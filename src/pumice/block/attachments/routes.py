"""The routes of attachments, and of the older actions that attach and detach (sections 9 and 7 of the API)."""

from __future__ import annotations

from typing import Any

from pumice.block.attachments import handlers, legacy
from pumice.block.attachments.model import Attachment
from pumice.block.attachments.shapes import (
    Attach,
    Connect,
    CreateAttachment,
    Detach,
    Disconnect,
    ForceDetach,
    UpdateAttachment,
)
from pumice.block.volumes.model import Volume
from pumice.kernel.api.routes import ADMIN, MEMBER, Route, Rule

ALL, ONE = "/attachments", "/attachments/{id}"


def _action(name: str, handler: Any, *, success: int = 202, **more: Any) -> Route:
    """An action of volumes, under the rule of its name."""
    rule = f"volume_extension:volume_actions:{name.removeprefix('os-')}"
    path = "/volumes/{id}/action"
    return Route("POST", path, handler, **{"policy": rule} | more, action=name, load=Volume, success=success)


ROUTES = [
    Route("GET", f"{ALL}/detail", handlers.detail, policy="", since="3.27"),
    Route("GET", ALL, handlers.index, policy="", since="3.27"),
    Route(
        "POST",
        ALL,
        handlers.create,
        policy="volume:attachment_create",
        since="3.27",
        body=CreateAttachment,
        creates=True,
    ),
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
    _action("os-reserve", legacy.reserve),
    _action("os-unreserve", legacy.unreserve),
    _action("os-begin_detaching", legacy.begin_detaching),
    _action("os-roll_detaching", legacy.roll_detaching),
    _action("os-attach", legacy.attach, body=Attach),
    _action("os-detach", legacy.detach, body=Detach),
    _action("os-initialize_connection", legacy.initialize_connection, body=Connect, success=200),
    _action("os-terminate_connection", legacy.terminate_connection, body=Disconnect),
    _action(
        "os-force_detach",
        legacy.force_detach,
        policy="volume_extension:volume_admin_actions:force_detach",
        check=ADMIN,
        body=ForceDetach,
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
