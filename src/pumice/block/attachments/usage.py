"""Who may take an attachment away while a server uses it (CVE-2023-2088)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pumice.block.attachments.model import Attachment
from pumice.kernel.db.scope import everything
from pumice.kernel.errors import Conflict

if TYPE_CHECKING:
    from pumice.block.service import BlockService
    from pumice.kernel.api.request import Request


def is_service(req: Request) -> bool:
    """Whether the request came with a service token of a role that may do anything to attachments."""
    wanted = {role.lower() for role in req.service.conf.keystone_authtoken.service_token_roles}
    return not wanted.isdisjoint(req.context.service_roles)


def refuse_if_used(req: Request, volume_id: str, attachment_id: str | None) -> None:
    """Have only the compute service itself take away what a server uses.

    Whoever removes an export that a server still uses may find the server on another tenant's data later, when
    its device has come to mean another volume.

    :param attachment_id: None: the volume's only attachment
    :raises Conflict: the caller is a user, and compute says or may say that a server uses the attachment
    """
    if is_service(req):
        return
    with req.service.db.read() as tx:
        rows = list(tx.scalars(everything().select(Attachment).where(Attachment.volume_id == volume_id)))
    chosen = [row for row in rows if attachment_id in (None, row.id)]
    if not rows and attachment_id is None:
        return
    if len(chosen) != 1:
        raise Conflict(
            f"Volume {volume_id} has {len(rows)} attachments: which of them is meant must be said by its id, "
            "and only the compute service may end one that a server uses."
        )
    [row] = chosen
    if row.instance_uuid is None or row.connection is None:
        return
    compute = cast("BlockService", req.service).compute
    if compute.uses(row.instance_uuid, volume_id, row.id):
        raise Conflict(
            f"Attachment {row.id} is used by server {row.instance_uuid}: "
            "detach the volume from the server with the compute service."
        )
