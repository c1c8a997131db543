"""The metadata of shares: keys that only administrators set."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from pumice.kernel.errors import Forbidden
from pumice.kernel.metadata import MetadataOf
from pumice.share.shares.model import Share

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

RULE = "share:update_admin_only_metadata"

Meta = Mapping[str, str]


def refuse_admin_keys(req: Request, before: Meta, after: Meta, keys: Collection[str], rule: str) -> None:
    """:raises Forbidden: keys that are for administrators would change, and the caller is none"""
    changed = [key for key in keys if before.get(key) != after.get(key)]
    if changed and not req.allowed(rule):
        raise Forbidden(f"metadata keys {', '.join(sorted(changed))} are refused: only administrators change them.")


def keep_admin_keys(
    req: Request, before: Meta, after: dict[str, str], keys: Collection[str], rule: str
) -> dict[str, str]:
    """What a change of metadata ends with: one who may not set admin-only keys keeps them by a PUT without them.

    :raises Forbidden: the caller changes or removes such a key
    """
    kept = {key: value for key, value in before.items() if key in keys and key not in after}
    if req.raw.method != "DELETE" and not req.allowed(rule):
        after = after | kept
    refuse_admin_keys(req, before, after, keys, rule)
    return after


def _settle(req: Request, _share: Share, before: Meta, after: dict[str, str]) -> dict[str, str]:
    return keep_admin_keys(req, before, after, req.service.conf.admin_only_metadata, RULE)


METADATA = MetadataOf(
    model=Share,
    path="/shares/{id}",
    policies=(
        "share:get_share_metadata",
        "share:update_share_metadata",
        "share:update_share_metadata",
        "share:delete_share_metadata",
    ),
    settle=_settle,
    wide=True,
)
