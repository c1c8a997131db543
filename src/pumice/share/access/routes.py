"""The routes of access rules of shares and of snapshots (sections 6 and 9 of the API)."""

from __future__ import annotations

from typing import Any

from pumice.kernel.api.routes import MEMBER, READER, Route, Rule
from pumice.kernel.metadata import WideBody
from pumice.share.access import handlers, snapshots
from pumice.share.access.model import AccessRule
from pumice.share.access.shapes import (
    Allow,
    AllowSnapshot,
    Deny,
    DenySnapshot,
    RuleDetail,
    RuleView,
    SnapshotRuleView,
    UpdateAccess,
)
from pumice.share.shares.model import Share
from pumice.share.snapshots.model import ShareSnapshot

RULE = "/share-access-rules/{id}"
SNAPSHOT = "/snapshots/{id}"


def _action(name: str, handler: Any, policy: str, until: str = "", **more: Any) -> list[Route]:
    """An action of shares, and its older name below 2.7."""
    path = "/shares/{id}/action"
    return [
        Route("POST", path, handler, policy, load=Share, action=name, since="2.7", until=until, **more),
        Route("POST", path, handler, policy, load=Share, action=f"os-{name}", until="2.6", **more),
    ]


def _on_snapshot(name: str, handler: Any, policy: str, **more: Any) -> Route:
    path = f"{SNAPSHOT}/action"
    return Route(
        "POST", path, handler, policy, MEMBER, load=ShareSnapshot, action=name, since="2.32", success=202, **more
    )


ROUTES = [
    *_action(
        "allow_access",
        handlers.allow,
        "share:allow_access",
        body=Allow,
        creates=True,
        answer={"access": RuleDetail},
    ),
    *_action("deny_access", handlers.deny, "share:deny_access", body=Deny, success=202),
    *_action(
        "access_list",
        handlers.access_list,
        "share:access_get_all",
        "2.44",
        check=READER,
        answer={"access_list": list[RuleView]},
    ),
    Route(
        "GET",
        "/share-access-rules",
        handlers.index,
        "share_access_rule:index",
        READER,
        since="2.45",
        answer={"access_list": list[RuleView]},
    ),
    Route(
        "GET",
        RULE,
        handlers.show,
        "share_access_rule:get",
        READER,
        since="2.45",
        load=AccessRule,
        answer={"access": RuleDetail},
    ),
    Route(
        "PUT",
        RULE,
        handlers.update,
        "share_access_rule:update",
        MEMBER,
        since="2.88",
        load=AccessRule,
        body=UpdateAccess,
        answer={"access": RuleDetail},
    ),
    Route(
        "PUT",
        f"{RULE}/metadata",
        handlers.METADATA.merge,
        "share_access_metadata:update",
        MEMBER,
        since="2.45",
        load=AccessRule,
        body=WideBody,
    ),
    Route(
        "DELETE",
        f"{RULE}/metadata/{{key}}",
        handlers.METADATA.delete_key,
        "share_access_metadata:delete",
        MEMBER,
        since="2.45",
        load=AccessRule,
    ),
    Route(
        "GET",
        f"{SNAPSHOT}/access-list",
        snapshots.index,
        "share_snapshot:access_list",
        READER,
        since="2.32",
        load=ShareSnapshot,
        answer={"snapshot_access_list": list[SnapshotRuleView]},
    ),
    _on_snapshot(
        "allow_access",
        snapshots.allow,
        "share_snapshot:allow_access",
        body=AllowSnapshot,
        creates=True,
        answer={"snapshot_access": SnapshotRuleView},
    ),
    _on_snapshot("deny_access", snapshots.deny, "share_snapshot:deny_access", body=DenySnapshot),
]

RULES: list[Rule] = [
    Rule(name="share:access_get", check=READER, doc="Show an access rule of a share, with older clients."),
]
