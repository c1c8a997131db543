from __future__ import annotations

from tests.share.shares.conftest import shares
from tests.support.shareservice import Shares

__all__ = ["shares"]


def test_no_share_has_replicas(shares: Shares) -> None:
    share = shares.share()
    for path in ("/share-replicas", "/share-replicas/detail", f"/share-replicas/detail?share_id={share}"):
        assert shares.ok("GET", path) == {"share_replicas": []}
    assert shares.ok("GET", "/share-replicas", version="2.55", experimental=True) == {"share_replicas": []}
    for version in ("2.10", "2.11", "2.55"):
        shares.refused(404, "GET", "/share-replicas", version=version)
    shares.refused(404, "GET", f"/share-replicas?share_id={share}", who="member_b")
    shares.refused(404, "POST", "/share-replicas", {"share_replica": {"share_id": share}})
