"""Request bodies and answers about resource locks (section 16 of the API)."""

from __future__ import annotations

import datetime
from typing import Annotated

from msgspec import UNSET, UnsetType

from pumice.kernel.api.shapes import Shape
from pumice.kernel.api.values import Uuid, one_of, text
from pumice.kernel.api.views import Of, View
from pumice.share.locks.placing import ACTIONS

ResourceType = Annotated[str, one_of(*ACTIONS)]
ResourceAction = Annotated[str, one_of(*sorted({action for actions in ACTIONS.values() for action in actions}))]
Reason = Annotated[str, text(0, 1023)]


class NewLock(Shape):
    resource_id: Uuid
    resource_type: ResourceType
    resource_action: ResourceAction = "delete"
    lock_reason: Reason | None = None


class CreateLock(Shape):
    resource_lock: NewLock


class LockChange(Shape, strict=True):
    resource_action: ResourceAction | UnsetType = UNSET
    lock_reason: Reason | UnsetType | None = UNSET


class UpdateLock(Shape):
    resource_lock: LockChange


class LockView(View):
    id: str
    user_id: str
    project_id: str
    lock_context: str
    resource_type: str
    resource_id: str
    resource_action: str
    lock_reason: str | None
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    links: Annotated[list[dict[str, str]], Of(lambda row, req: req.links("resource-locks", row.id))]
