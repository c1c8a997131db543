"""The replicas of shares: there are none yet, and the lists say so (section 12 of the API).

Clients ask for the replicas of a share before they delete it, whether it has any or not, and a 404 tells them that
there is no such share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pumice.kernel.api.routes import READER, Route
from pumice.share.shares.model import Share

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request


def index(req: Request) -> dict[str, list[Any]]:
    if share_id := req.query.get("share_id"):
        with req.service.db.read() as tx:
            req.get(tx, Share, share_id)
    return {"share_replicas": []}


ROUTES = [
    Route("GET", path, index, policy="share_replica:get_all", check=READER, since="2.11", experimental_until="2.55")
    for path in ("/share-replicas", "/share-replicas/detail")
]
