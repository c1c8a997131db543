"""Request bodies and answers about access rules (sections 6 and 9 of the API)."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Annotated

from pumice.kernel.api.fields import Since
from pumice.kernel.api.shapes import Shape
from pumice.kernel.api.values import Boolean, Text, one_of, text
from pumice.kernel.api.views import Of, View
from pumice.kernel.metadata import WideMetadata

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request
    from pumice.share.access.model import AccessRule
    from pumice.share.locks.model import ResourceLock

LEVELS = ("rw", "ro")
HIDDEN = "******"

Level = Annotated[str, one_of(*LEVELS)]
Target = Annotated[str, text(1, 255)]
Reason = Annotated[str, text(0, 1023)]


class Allow(Shape):
    access_type: Text
    access_to: Target
    access_level: Level | None = None
    metadata: Annotated[WideMetadata | None, Since("2.45")] = None
    lock_visibility: Annotated[Boolean, Since("2.82")] = False
    lock_deletion: Annotated[Boolean, Since("2.82")] = False
    lock_reason: Annotated[Reason | None, Since("2.82")] = None

    def __post_init__(self) -> None:
        if self.lock_reason and not (self.lock_visibility or self.lock_deletion):
            raise ValueError("lock_reason is refused without lock_visibility or lock_deletion")


class Deny(Shape):
    access_id: Text
    unrestrict: Annotated[Boolean, Since("2.82")] = False


class NewLevel(Shape, strict=True):
    access_level: Level


class UpdateAccess(Shape, strict=True):
    update_access: NewLevel


class AllowSnapshot(Shape):
    access_type: Text
    access_to: Target


class DenySnapshot(Shape):
    access_id: Text


def may_read(lock: ResourceLock, req: Request) -> bool:
    """Whether the caller may read the target and the key of a rule with this show lock."""
    owner = {"user_id": lock.user_id, "project_id": lock.project_id}
    return req.allowed("resource_lock:bypass_locked_show_action", owner)


def _restricted(rule: AccessRule, req: Request) -> bool:
    return rule.show_lock is not None and not may_read(rule.show_lock, req)


def _state(rule: AccessRule, req: Request) -> str:
    """Below 2.28, rules had no states of their own: the share's stood for them."""
    if req.version >= "2.28":
        return rule.state
    status = rule.instance.access_rules_status
    return "new" if status == "syncing" else status


def _key(rule: AccessRule, req: Request) -> str | None:
    return HIDDEN if _restricted(rule, req) else rule.access_key


class RuleView(View):
    """An entry of a list; rows are dressed (`access.handlers.dress`)."""

    id: str
    access_level: str
    access_to: Annotated[str, Of(lambda row, req: HIDDEN if _restricted(row, req) else row.access_to)]
    access_type: str
    state: Annotated[str, Of(_state)]
    access_key: Annotated[str | None, Since("2.21"), Of(_key)]
    created_at: Annotated[datetime.datetime, Since("2.33")]
    updated_at: Annotated[datetime.datetime | None, Since("2.33")]
    metadata: Annotated[dict[str, str], Since("2.45"), Of(lambda row, _req: row.meta)]


class RuleDetail(RuleView):
    share_id: str


class SnapshotRuleView(View):
    id: str
    access_type: str
    access_to: str
    state: str
